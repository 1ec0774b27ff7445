// SPDX-License-Identifier: Apache-2.0
/*
 * Reading and the end: READING --> STATS --> QUERYING_AGAIN --> (HELD) --> FREEING --> end.
 *
 * A streaming session is read in passes. Each pass reads the data that the service has at that
 * moment. The next pass starts at once if the last one read much, else after a pause, or when the
 * owner asks for it. A pass in progress when tracing ends is followed by a last one.
 */

#include "cli/record/record_session_end.h"

#include <errno.h>
#include <event2/event.h>

#define PASS_PERIOD_MS 100
#define PASS_MUCH_BYTES (256u << 10) /* more data is likely to be available */

static void end_well(struct record_session *s)
{
	record_session_end(s, s->aborted.text[0] ? -ECONNABORTED : 0, s->aborted.text);
}

static void on_freed(void *ctx, int error)
{
	struct record_session *s = ctx;

	(void)error; /* best effort: the data was read */
	if (s->state == RECORD_FREEING)
		end_well(s);
}

static void free_buffers(struct record_session *s)
{
	if (s->held) {
		record_session_enter(s, RECORD_HELD);
		return;
	}
	record_session_enter(s, RECORD_FREEING);
	if (consumer_free_buffers(s->consumer, on_freed, s))
		end_well(s);
}

void record_session_release(struct record_session *s)
{
	if (s->state == RECORD_HELD)
		free_buffers(s);
}

static void on_state_again(void *ctx, int error, const Pb__TracingServiceState *state)
{
	struct record_session *s = ctx;

	if (s->state != RECORD_QUERYING_AGAIN)
		return;
	if (!error)
		s->ops->on_state(s->ctx, true, state);
	free_buffers(s);
}

static void query_again(struct record_session *s)
{
	record_session_enter(s, RECORD_QUERYING_AGAIN);
	if (consumer_query_state(s->consumer, false, on_state_again, s))
		free_buffers(s);
}

static void on_last_stats(void *ctx, int error, const Pb__TraceStats *stats)
{
	struct record_session *s = ctx;

	if (s->state != RECORD_STATS)
		return;
	if (!error)
		s->ops->on_stats(s->ctx, true, stats);
	query_again(s);
}

static void ask_last_stats(struct record_session *s)
{
	record_session_enter(s, RECORD_STATS);
	if (consumer_stats(s->consumer, on_last_stats, s))
		query_again(s);
}

static void record_session_end_on_sign(void *ctx)
{
	struct record_session *s = ctx;

	if (s->state == RECORD_READING)
		record_session_arm(s);
}

static bool is_read(const struct record_session *s)
{
	return s->state == RECORD_READING || record_session_tracing(s);
}

static int record_session_end_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct record_session *s = ctx;

	s->pass_bytes += len;
	return is_read(s) ? s->ops->on_packet(s->ctx, data, len) : -ECANCELED;
}

static void pause_passes(struct record_session *s)
{
	uint64_t ms = s->pass_bytes >= PASS_MUCH_BYTES ? 0 : PASS_PERIOD_MS;
	struct timeval t = {0, (suseconds_t)(ms * 1000)};

	if (s->on_demand)
		return;
	event_add(s->pass, &t);
}

static void record_session_end_on_read(void *ctx, int error)
{
	struct record_session *s = ctx;
	bool last = s->state == RECORD_READING && s->last_pass;

	s->passing = false;
	if (!is_read(s))
		return;
	if (!error && s->ops->on_caught_up)
		error = s->ops->on_caught_up(s->ctx);
	if (error)
		record_session_fail(s, error);
	else if (last)
		ask_last_stats(s);
	else if (s->state == RECORD_READING)
		record_session_begin_pass(s);
	else
		pause_passes(s);
}

static const struct packet_read_ops read_ops = {
	record_session_end_on_sign, record_session_end_on_packet, record_session_end_on_read};

void record_session_begin_pass(struct record_session *s)
{
	int r;

	s->pass_bytes = 0;
	s->passing = true;
	s->last_pass = s->state == RECORD_READING;
	r = packet_read_start(&s->reading, s->consumer, &read_ops, s);
	if (r)
		record_session_fail(s, r);
}

static void on_pause_over(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	record_session_begin_pass(ctx);
}

int record_session_new_passes(struct record_session *s, struct event_base *loop)
{
	s->pass = evtimer_new(loop, on_pause_over, s);
	return s->pass ? 0 : -ENOMEM;
}

void record_session_begin_passes(struct record_session *s)
{
	if (s->pass)
		pause_passes(s);
}

void record_session_read(struct record_session *s)
{
	s->ops->on_stopped(s->ctx, s->flush_error);
	record_session_enter(s, RECORD_READING);
	/* Nothing to read: the service has written the trace, or clones of the session were
	 * saved. */
	if (s->config->write_into_file || s->ops->on_clone_trigger) {
		ask_last_stats(s);
		return;
	}
	if (s->pass)
		event_del(s->pass);
	if (!s->passing)
		record_session_begin_pass(s);
}
