// SPDX-License-Identifier: Apache-2.0
/* After tracing: READING --> STATS --> QUERYING_AGAIN --> (HELD) --> FREEING --> end. */

#include "cli/record_session_internal.h"

#include <errno.h>

static void end_well(struct record_session *s)
{
	record_session_end(s, s->aborted.text[0] ? -ECONNABORTED : 0, s->aborted.text);
}

static void on_freed(void *ctx, int error)
{
	struct record_session *s = ctx;

	(void)error; /* we have what we want */
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

void record_session_hold(struct record_session *s, bool hold)
{
	s->held = hold;
	if (!hold && s->state == RECORD_HELD)
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

static void on_sign(void *ctx)
{
	struct record_session *s = ctx;

	if (s->state == RECORD_READING)
		record_session_arm(s);
}

static int on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct record_session *s = ctx;

	return s->state != RECORD_READING ? -ECANCELED : s->ops->on_packet(s->ctx, data, len);
}

static void on_read(void *ctx, int error)
{
	struct record_session *s = ctx;

	if (s->state != RECORD_READING)
		return;
	if (error)
		record_session_fail(s, error);
	else
		ask_last_stats(s);
}

static const struct packet_read_ops read_ops = {on_sign, on_packet, on_read};

void record_session_read(struct record_session *s)
{
	int r;

	s->ops->on_stopped(s->ctx, s->flush_error);
	record_session_enter(s, RECORD_READING);
	/* The service has written the trace, or others have clones of it: there is none to read. */
	if (s->config->write_into_file || s->ops->on_clone_trigger) {
		ask_last_stats(s);
		return;
	}
	r = packet_read_start(&s->reading, s->consumer, &read_ops, s);
	if (r)
		record_session_fail(s, r);
}
