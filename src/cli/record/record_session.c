// SPDX-License-Identifier: Apache-2.0
/*
 * The consumer's side of a session, one request after the other:
 *
 *	CONNECTING --> QUERYING --> RECORDING -- tracing ended --------> READING --> STATS
 *	                               |                                    ^          |
 *	                               +- stop -> FLUSHING --> DISABLING ---+          v
 *	                                         end <-- FREEING <-- (HELD) <-- QUERYING_AGAIN
 *
 * or RECORDING -- detach --> DETACHING --> end.
 *
 * "Tracing ended" is the answer to EnableTracing, which stays pending during the recording. It may
 * arrive in RECORDING (the duration is over, or the service refused the config), FLUSHING or
 * DISABLING. Each state has a deadline, so that a service that hangs does not block this process.
 */

#include "cli/record/record_session.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "cli/record/record_config.h"
#include "cli/record/record_session_end.h"
#include "cli/trace/service_help.h"
#include "config/limits.h"

/* ---- tracing ---- */

static void on_enabled(void *ctx, int error, const char *text)
{
	struct record_session *s = ctx;

	if (!record_session_tracing(s))
		return;
	if (error) {
		record_session_fail(s, error);
		return;
	}
	if (*text)
		err_set(&s->aborted, -EPROTO, "the tracing service says: %s", text);
	/* The data recorded until then can still be read. */
	if (!*text || s->exists)
		record_session_read(s);
	else
		record_session_end(s, -EPROTO, s->aborted.text);
}

static void on_disabled(void *ctx, int error)
{
	struct record_session *s = ctx;

	/* on_enabled reports the end itself. */
	if (s->state == RECORD_DISABLING && error)
		record_session_fail(s, error);
}

static void record_session_on_flushed(void *ctx, int error)
{
	struct record_session *s = ctx;
	int r;

	if (s->state != RECORD_FLUSHING)
		return;
	if (error == -EPIPE) {
		record_session_fail(s, error);
		return;
	}
	s->flush_error = error;
	record_session_enter(s, RECORD_DISABLING);
	r = consumer_disable(s->consumer, on_disabled, s);
	if (r)
		record_session_fail(s, r);
}

void record_session_stop(struct record_session *s)
{
	int r;

	if (s->state == RECORD_CONNECTING || s->state == RECORD_QUERYING) {
		record_session_end(s, -ECANCELED, "interrupted before the recording started");
		return;
	}
	if (s->state != RECORD_RECORDING)
		return;
	record_session_enter(s, RECORD_FLUSHING);
	r = consumer_flush(s->consumer, 0, FLUSH_REASON_STOP | FLUSH_BY_CLI,
			   record_session_on_flushed, s);
	if (r)
		record_session_fail(s, r);
}

static void on_detached(void *ctx, int error)
{
	struct record_session *s = ctx;

	if (s->state != RECORD_DETACHING)
		return;
	if (error)
		record_session_fail(s, error);
	else
		record_session_end(s, 0, "");
}

void record_session_detach(struct record_session *s, const char *key)
{
	int r;

	if (s->state != RECORD_RECORDING)
		return;
	record_session_enter(s, RECORD_DETACHING);
	r = consumer_detach(s->consumer, key, on_detached, s);
	if (r)
		record_session_fail(s, r);
}

static void record_session_on_stats(void *ctx, int error, const Pb__TraceStats *stats)
{
	struct record_session *s = ctx;

	s->stats_asked = false;
	s->exists |= !error;
	if (!error && record_session_tracing(s))
		s->ops->on_stats(s->ctx, false, stats);
}

void record_session_ask_stats(struct record_session *s)
{
	if (!record_session_tracing(s) || s->stats_asked)
		return;
	s->stats_asked = consumer_stats(s->consumer, record_session_on_stats, s) == 0;
}

bool record_session_is_stopping(const struct record_session *s)
{
	return s->state > RECORD_RECORDING;
}

static void on_start_answer(void *ctx, int error)
{
	struct record_session *s = ctx;

	if (s->state == RECORD_RECORDING && error)
		record_session_fail(s, error);
}

static void report_started(struct record_session *s)
{
	if (!s->ops->on_started || s->started || s->state != RECORD_RECORDING)
		return;
	s->started = true;
	s->ops->on_started(s->ctx);
}

static const char no_triggers[] = "the tracing service is too old for CLONE_SNAPSHOT: it does not "
				  "report when a snapshot is due";

static void record_session_on_observed(void *ctx, int error, const Pb__ObservableEvents *events,
				       bool last)
{
	struct record_session *s = ctx;

	(void)last;
	if (error && error != -EPIPE && s->ops->on_clone_trigger) {
		record_session_end(s, error, no_triggers);
		return;
	}
	if (events && events->clone_trigger_hit && s->ops->on_clone_trigger &&
	    s->state >= RECORD_RECORDING && s->state <= RECORD_HELD)
		s->ops->on_clone_trigger(s->ctx, events->clone_trigger_hit);
	/* A service that refuses the request will not report the start. */
	if (error || (events && events->all_data_sources_started))
		report_started(s);
}

static void on_sign_of_life(void *ctx, int error, const Pb__TraceStats *stats)
{
	(void)error;
	(void)stats;
	report_started(ctx);
}

/* Waits for the start. With an old service, any answer after EnableTracing shows that the service
 * accepted the config. */
static void await_start(struct record_session *s)
{
	uint32_t events = PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED;

	if (s->ops->on_clone_trigger)
		events |= PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT;
	if (consumer_observe(s->consumer, events, record_session_on_observed, s) == 0)
		return;
	if (s->ops->on_clone_trigger)
		record_session_end(s, -ENOSYS, no_triggers);
	else if (consumer_stats(s->consumer, on_sign_of_life, s))
		report_started(s);
}

static void enable(struct record_session *s)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	struct err_text why;
	size_t len;
	int r;

	r = s->ops->before_recording(s->ctx, &why);
	if (r) {
		record_session_end(s, r, why.text);
		return;
	}
	r = record_config_pack(s->config, &bytes, &len);
	if (!r)
		r = consumer_enable(s->consumer, bytes, len, s->passed_fd, on_enabled, s);
	if (r == -EMSGSIZE) {
		record_session_end(s, r,
				   "the config is too large: the limit is 128 KiB, serialized");
		return;
	}
	/* The service waits for StartTracing; send it at once. */
	if (!r && s->config->deferred_start)
		r = consumer_start(s->consumer, on_start_answer, s);
	if (r) {
		record_session_fail(s, r);
		return;
	}
	record_session_enter(s, RECORD_RECORDING);
	s->ops->on_recording(s->ctx);
	record_session_begin_passes(s);
	record_session_ask_stats(s);
	if (s->ops->on_started || s->ops->on_clone_trigger)
		await_start(s);
}

/* ---- connection ---- */

static void record_session_on_state(void *ctx, int error, const Pb__TracingServiceState *state)
{
	struct record_session *s = ctx;

	if (s->state != RECORD_QUERYING)
		return;
	if (error == -EPIPE) {
		record_session_fail(s, error);
		return;
	}
	if (!error)
		s->ops->on_state(s->ctx, false, state);
	if (s->state == RECORD_QUERYING)
		enable(s);
}

static void record_session_on_connected(void *ctx, int error)
{
	struct record_session *s = ctx;
	struct err_text why;

	if (s->state != RECORD_CONNECTING)
		return;
	if (error) {
		err_set(&why, error, "the listener on %s is not a tracing service: %s", s->address,
			strerror(-error));
		record_session_end(s, error, why.text);
		return;
	}
	record_session_enter(s, RECORD_QUERYING);
	if (consumer_query_state(s->consumer, false, record_session_on_state, s))
		enable(s); /* an old service: continue without its state */
}

static void record_session_on_disconnected(void *ctx)
{
	record_session_fail(ctx, -EPIPE);
}

static const struct consumer_ops consumer_ops = {
	.on_connected = record_session_on_connected,
	.on_disconnected = record_session_on_disconnected,
};

int record_session_start(struct event_base *loop, const char *socket, const Pb__TraceConfig *config,
			 const struct record_session_ops *ops, void *ctx, struct err_text *e,
			 struct record_session **ret)
{
	const char *address = socket ? socket : sock_default_consumer();
	struct record_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->passed_fd = -1;
	s->config = config;
	s->ops = ops;
	s->ctx = ctx;
	snprintf(s->address, sizeof(s->address), "%s", address);
	r = record_session_new_deadline(s, loop);
	if (!r)
		r = consumer_connect(loop, address, &consumer_ops, s, &s->consumer);
	if (r) {
		service_explain(address, r, e);
		record_session_free(s);
		return r;
	}
	record_session_enter(s, RECORD_CONNECTING);
	*ret = s;
	return 0;
}

void record_session_pass_file(struct record_session *s, int fd)
{
	s->passed_fd = fd;
}

void record_session_free(struct record_session *s)
{
	if (!s)
		return;
	consumer_free(s->consumer);
	event_freep(&s->deadline);
	event_freep(&s->pass);
	packet_read_deinit(&s->reading);
	free(s);
}

bool record_session_is_recording(const struct record_session *s)
{
	return record_session_tracing(s);
}

int record_session_read_on(struct record_session *s, struct event_base *loop)
{
	return record_session_new_passes(s, loop);
}

static void on_caught_flush(void *ctx, int error)
{
	struct record_session *s = ctx;

	s->catching_up = false;
	if (s->state != RECORD_RECORDING)
		return;
	if (error == -EPIPE)
		record_session_fail(s, error);
	else /* without the data of a producer that did not answer */
		record_session_begin_pass(s);
}

bool record_session_catch_up(struct record_session *s, bool flush)
{
	if (s->state != RECORD_RECORDING || !s->on_demand || s->passing || s->catching_up)
		return false;
	if (!flush) {
		record_session_begin_pass(s);
		return true;
	}
	s->catching_up = !consumer_flush(s->consumer, 0, FLUSH_REASON_PERIODIC | FLUSH_BY_CLI,
					 on_caught_flush, s);
	return s->catching_up;
}

int record_session_read_when_asked(struct record_session *s, struct event_base *loop)
{
	s->on_demand = true;
	return record_session_new_passes(s, loop);
}

void record_session_hold(struct record_session *s, bool hold)
{
	s->held = hold;
	if (!hold)
		record_session_release(s);
}
