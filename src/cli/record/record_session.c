/* SPDX-License-Identifier: Apache-2.0 */
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
 * arrive in RECORDING (the duration has elapsed, or the service refused the config), FLUSHING or
 * DISABLING. Each state has a deadline, so that a service that hangs does not block this process.
 *
 * A streaming session is read in passes. Each pass reads the data that the service has at that
 * moment. The next pass starts at once if the last one read much, else after a pause, or when the
 * owner asks for it. A pass in progress when tracing ends is followed by a last one.
 */

#include "cli/record/record_session.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "cli/record/record_config.h"
#include "cli/trace/answer_message.h"
#include "cli/trace/service_help.h"
#include "cli/trace/trace_readback.h"
#include "client/loop/event_base_loop.h"
#include "client/transport/consumer.h"
#include "config/limits.h"

#define PASS_PERIOD_MS 100
#define PASS_MUCH_BYTES (256u << 10) /* more data is likely to be available */

enum record_session_state {
	RECORD_CONNECTING,
	RECORD_QUERYING,
	RECORD_RECORDING,
	RECORD_FLUSHING,
	RECORD_DISABLING,
	RECORD_DETACHING,
	RECORD_READING,
	RECORD_STATS,
	RECORD_QUERYING_AGAIN,
	RECORD_HELD,
	RECORD_FREEING,
	RECORD_ENDED,
};

struct record_session {
	const Pb__TraceConfig *config; /* borrowed from the caller until free */
	const struct record_session_ops *ops; /* borrowed from the caller until free */
	void *ctx;
	struct io_loop *io; /* owned; inside the event loop, for the consumer */
	struct consumer *consumer; /* owned */
	struct event *deadline; /* owned */
	struct packet_read reading;
	enum record_session_state state;
	int flush_error;
	int passed_fd; /* borrowed; -1: none */
	struct event
		*pass; /* owned: the next pass of reading while it records; NULL: it does not */
	bool passing, last_pass; /* a pass is in progress; it is the last pass */
	bool on_demand; /* passes begin when the owner asks for them */
	bool catching_up; /* the flush before such a pass is pending */
	uint64_t pass_bytes; /* bytes that this pass has read */
	bool stats_asked;
	bool exists; /* the service has answered with the counters of the session */
	struct err_text aborted; /* why the service aborted the session; "": it did not */
	bool held; /* until all clones of the session are made */
	bool started; /* all data sources have started, and that was reported */
	char address[128]; /* of the service, for messages */
};

/* ---- the state, its deadline, and the end ---- */

/* Ends the session: calls on_end, once. */
static void record_session_end(struct record_session *s, int error, const char *why)
{
	if (s->state == RECORD_ENDED)
		return;
	s->state = RECORD_ENDED;
	event_del(s->deadline);
	if (s->pass)
		event_del(s->pass);
	s->ops->on_end(s->ctx, error, why);
}

static const char *session_state_text(enum record_session_state state)
{
	static const char *const words[] = {
		[RECORD_CONNECTING] = "connecting",
		[RECORD_QUERYING] = "querying its data sources",
		[RECORD_RECORDING] = "recording",
		[RECORD_FLUSHING] = "flushing the data",
		[RECORD_DISABLING] = "stopping",
		[RECORD_DETACHING] = "detaching",
		[RECORD_READING] = "reading the trace",
		[RECORD_STATS] = "reading the counters",
		[RECORD_QUERYING_AGAIN] = "querying its data sources",
		[RECORD_HELD] = "saving the last snapshots",
		[RECORD_FREEING] = "closing the session",
		[RECORD_ENDED] = "nothing",
	};

	return words[state];
}

/* Ends the session with an error. The message is the service's reason if it aborted the session,
 * else that of the errno. */
static void record_session_fail(struct record_session *s, int error)
{
	struct err_text why;

	if (s->aborted.text[0]) {
		record_session_end(s, error, s->aborted.text);
		return;
	}
	if (error == -EPIPE)
		err_set(&why, error, "the tracing service disconnected while %s",
			session_state_text(s->state));
	else if (error == -ENOSYS)
		err_set(&why, error, "the tracing service is too old: it does not support %s",
			session_state_text(s->state));
	else if (error == -EPROTO)
		err_set(&why, error, "the tracing service reported an error while %s",
			session_state_text(s->state));
	else
		err_set(&why, error, "%s failed: %s", session_state_text(s->state),
			strerror(-error));
	record_session_end(s, error, why.text);
}

static void record_session_on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct record_session *s = ctx;
	struct err_text why;

	if (s->state == RECORD_CONNECTING)
		service_explain(s->address, -ETIMEDOUT, &why);
	else
		err_set(&why, -ETIMEDOUT, "the tracing service does not answer; gave up while %s",
			session_state_text(s->state));
	record_session_end(s, -ETIMEDOUT, why.text);
}

/* Returns how long the state may last without an answer of the service, in ms; 0: no limit. */
static uint64_t answer_timeout_ms(const struct record_session *s)
{
	const Pb__TraceConfig *c = s->config;
	uint64_t flush = c->flush_timeout_ms ? c->flush_timeout_ms : DEFAULT_FLUSH_TIMEOUT_MS;
	uint64_t stop = c->data_source_stop_timeout_ms ? c->data_source_stop_timeout_ms
						       : DEFAULT_STOP_TIMEOUT_MS;

	switch (s->state) {
	case RECORD_RECORDING:
		if (!c->duration_ms || c->trigger_config)
			return 0;
		return c->duration_ms + flush + stop + RECORD_GRACE_MS;
	case RECORD_FLUSHING:
		return flush + RECORD_GRACE_MS;
	case RECORD_DISABLING:
		return stop + RECORD_GRACE_MS;
	case RECORD_CONNECTING:
		return CONNECT_TIMEOUT_MS;
	case RECORD_HELD: /* the owner of the hold has its own deadlines */
		return 0;
	default:
		return RECORD_GRACE_MS;
	}
}

/* Restarts the deadline of the state, because the service has answered. */
static void record_session_arm(struct record_session *s)
{
	uint64_t ms = answer_timeout_ms(s);

	event_del(s->deadline);
	if (ms)
		event_timer_ms(s->deadline, ms);
}

static void record_session_enter(struct record_session *s, enum record_session_state state)
{
	s->state = state;
	record_session_arm(s);
}

bool record_session_is_recording(const struct record_session *s)
{
	return s->state == RECORD_RECORDING || s->state == RECORD_FLUSHING ||
	       s->state == RECORD_DISABLING;
}

/* ---- reading, and the last requests ---- */

static void end_without_error(struct record_session *s)
{
	record_session_end(s, s->aborted.text[0] ? -ECONNABORTED : 0, s->aborted.text);
}

static void on_freed(void *ctx, int error)
{
	struct record_session *s = ctx;

	(void)error; /* best effort: the data was read */
	if (s->state == RECORD_FREEING)
		end_without_error(s);
}

static void free_buffers(struct record_session *s)
{
	if (s->held) {
		record_session_enter(s, RECORD_HELD);
		return;
	}
	record_session_enter(s, RECORD_FREEING);
	if (consumer_free_buffers(s->consumer, on_freed, s))
		end_without_error(s);
}

void record_session_set_hold(struct record_session *s, bool hold)
{
	s->held = hold;
	if (!hold && s->state == RECORD_HELD)
		free_buffers(s);
}

static void on_state_again(void *ctx, int error, const void *data, size_t len)
{
	_cleanup_(answer_freep) Pb__TracingServiceState *state = NULL;
	struct record_session *s = ctx;

	state = answer_unpack(&pb__tracing_service_state__descriptor, &error, data, len);
	if (s->state != RECORD_QUERYING_AGAIN)
		return;
	if (!error)
		s->ops->on_state(s->ctx, true, state);
	free_buffers(s);
}

static void query_state_again(struct record_session *s)
{
	record_session_enter(s, RECORD_QUERYING_AGAIN);
	if (consumer_query_state(s->consumer, false, on_state_again, s))
		free_buffers(s);
}

static void on_last_stats(void *ctx, int error, const void *data, size_t len)
{
	_cleanup_(answer_freep) Pb__TraceStats *stats = NULL;
	struct record_session *s = ctx;

	stats = answer_unpack(&pb__trace_stats__descriptor, &error, data, len);
	if (s->state != RECORD_STATS)
		return;
	if (!error)
		s->ops->on_stats(s->ctx, true, stats);
	query_state_again(s);
}

static void request_last_stats(struct record_session *s)
{
	record_session_enter(s, RECORD_STATS);
	if (consumer_stats(s->consumer, on_last_stats, s))
		query_state_again(s);
}

static void record_session_begin_pass(struct record_session *s);

static void record_session_on_sign(void *ctx)
{
	struct record_session *s = ctx;

	if (s->state == RECORD_READING)
		record_session_arm(s);
}

static bool may_receive_packets(const struct record_session *s)
{
	return s->state == RECORD_READING || record_session_is_recording(s);
}

static int record_session_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct record_session *s = ctx;

	s->pass_bytes += len;
	return may_receive_packets(s) ? s->ops->on_packet(s->ctx, data, len) : -ECANCELED;
}

static void schedule_next_pass(struct record_session *s)
{
	if (!s->on_demand)
		event_timer_ms(s->pass, s->pass_bytes >= PASS_MUCH_BYTES ? 0 : PASS_PERIOD_MS);
}

static void record_session_on_read(void *ctx, int error)
{
	struct record_session *s = ctx;
	bool last = s->state == RECORD_READING && s->last_pass;

	s->passing = false;
	if (!may_receive_packets(s))
		return;
	if (!error && s->ops->on_caught_up)
		error = s->ops->on_caught_up(s->ctx);
	if (error)
		record_session_fail(s, error);
	else if (last)
		request_last_stats(s);
	else if (s->state == RECORD_READING)
		record_session_begin_pass(s);
	else
		schedule_next_pass(s);
}

static const struct packet_read_ops read_ops = {record_session_on_sign, record_session_on_packet,
						record_session_on_read};

/* Reads the data that the service has now. */
static void record_session_begin_pass(struct record_session *s)
{
	int r;

	s->pass_bytes = 0;
	s->passing = true;
	s->last_pass = s->state == RECORD_READING;
	r = packet_read_start(&s->reading, s->consumer, &read_ops, s);
	if (r)
		record_session_fail(s, r);
}

static void record_session_on_pass_timer(evutil_socket_t fd, short what, void *ctx)
{
	record_session_begin_pass(ctx);
}

int record_session_read_continuously(struct record_session *s, struct event_base *loop)
{
	s->pass = evtimer_new(loop, record_session_on_pass_timer, s);
	return s->pass ? 0 : -ENOMEM;
}

/* Begins to read the data, or what is left of it, after tracing has ended. */
static void record_session_read(struct record_session *s)
{
	if (s->ops->on_stopped)
		s->ops->on_stopped(s->ctx, s->flush_error);
	record_session_enter(s, RECORD_READING);
	/* Nothing to read: the service has written the trace, or clones of the session were
	 * saved. */
	if (s->config->write_into_file || s->ops->on_clone_trigger) {
		request_last_stats(s);
		return;
	}
	if (s->pass)
		event_del(s->pass);
	if (!s->passing)
		record_session_begin_pass(s);
}

/* ---- tracing ---- */

static void on_enabled(void *ctx, int error, const char *text)
{
	struct record_session *s = ctx;

	if (!record_session_is_recording(s))
		return;
	if (error) {
		record_session_fail(s, error);
		return;
	}
	if (*text)
		err_set(&s->aborted, -EPROTO, "the tracing service aborted the session: %s", text);
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

static void record_session_on_stats(void *ctx, int error, const void *data, size_t len)
{
	_cleanup_(answer_freep) Pb__TraceStats *stats = NULL;
	struct record_session *s = ctx;

	stats = answer_unpack(&pb__trace_stats__descriptor, &error, data, len);
	s->stats_asked = false;
	s->exists |= !error;
	if (!error && record_session_is_recording(s))
		s->ops->on_stats(s->ctx, false, stats);
}

void record_session_request_stats(struct record_session *s)
{
	if (!record_session_is_recording(s) || s->stats_asked)
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

static void record_session_on_observed(void *ctx, int error, const void *data, size_t len,
				       bool last)
{
	_cleanup_(answer_freep) Pb__ObservableEvents *events = NULL;
	struct record_session *s = ctx;

	if (!last)
		events = answer_unpack(&pb__observable_events__descriptor, &error, data, len);
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

static void on_sign_of_life(void *ctx, int error, const void *data, size_t len)
{
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

static void enable_tracing(struct record_session *s)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	struct err_text why;
	size_t len;
	int r;

	r = s->ops->before_recording ? s->ops->before_recording(s->ctx, &why) : 0;
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
	if (s->ops->on_recording)
		s->ops->on_recording(s->ctx);
	if (s->pass)
		schedule_next_pass(s);
	record_session_request_stats(s);
	if (s->ops->on_started || s->ops->on_clone_trigger)
		await_start(s);
}

/* ---- connection ---- */

static void record_session_on_state(void *ctx, int error, const void *data, size_t len)
{
	_cleanup_(answer_freep) Pb__TracingServiceState *state = NULL;
	struct record_session *s = ctx;

	state = answer_unpack(&pb__tracing_service_state__descriptor, &error, data, len);
	if (s->state != RECORD_QUERYING)
		return;
	if (error == -EPIPE) {
		record_session_fail(s, error);
		return;
	}
	if (!error)
		s->ops->on_state(s->ctx, false, state);
	if (s->state == RECORD_QUERYING)
		enable_tracing(s);
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
		enable_tracing(s); /* an old service: continue without its state */
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
	const struct channel_target target = {.address = address, .of_program = true};
	struct record_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->passed_fd = -1;
	s->config = config;
	s->ops = ops;
	s->ctx = ctx;
	snprintf(s->address, sizeof(s->address), "%s", address);
	s->io = event_base_loop_new(loop);
	s->deadline = evtimer_new(loop, record_session_on_deadline, s);
	r = s->io && s->deadline ? 0 : -ENOMEM;
	if (!r)
		r = consumer_connect(s->io, &target, &consumer_ops, s, &s->consumer);
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
	event_base_loop_free(s->io);
	event_freep(&s->deadline);
	event_freep(&s->pass);
	packet_read_deinit(&s->reading);
	free(s);
}

int record_session_read_on_demand(struct record_session *s, struct event_base *loop)
{
	s->on_demand = true;
	return record_session_read_continuously(s, loop);
}

static void on_caught_flush(void *ctx, int error)
{
	struct record_session *s = ctx;

	s->catching_up = false;
	if (s->state != RECORD_RECORDING)
		return;
	if (error == -EPIPE)
		record_session_fail(s, error);
	else /* a producer did not answer, so its last data is missing */
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
