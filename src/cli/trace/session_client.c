/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request runs the loop until its callback has stored the answer. One request is pending at a
 * time. The session may end during any request.
 */
#include "cli/trace/session_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "analyze/buffer_stats.h"
#include "analyze/trace_scan.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "cli/terminal/signals.h"
#include "cli/trace/answer_message.h"
#include "cli/trace/service_help.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"
#include "client/loop/event_base_loop.h"
#include "config/limits.h"

struct session_client {
	struct event_base *loop; /* owned */
	struct io_loop *io; /* owned; inside the loop, for the consumer */
	struct consumer *consumer; /* owned */
	struct event *timer; /* owned */
	const char *address; /* borrowed */
	bool done, timed_out; /* result of the pending request */
	int error;
	bool lost; /* the connection */
	bool is_ours; /* the session was started here: its end is reported without a request */
	bool started; /* all data sources of our session */
	bool ended; /* our session */
	bool observing;
	void (*on_hit)(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit); /* or NULL */
	void *on_hit_ctx;
	struct err_text end_text; /* "" or the reason */
	unsigned signals;
	/* destination of the answer */
	ProtobufCMessage *message; /* owned; NULL: none */
	struct err_text said; /* error text of the service */
	bool clone_good, clone_written;
	struct trace_file *file; /* borrowed */
	struct trace_scan *scan; /* borrowed */
	struct service_stats *stats; /* borrowed */
	struct packet_read reading;
};

/* ---- one request ---- */

static void end_wait(struct session_client *c, int error)
{
	c->done = true;
	c->error = error;
	event_base_loopbreak(c->loop);
}

static void session_client_on_done(void *ctx, int error)
{
	end_wait(ctx, error);
}

static void session_client_on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct session_client *c = ctx;

	c->timed_out = true;
	event_base_loopbreak(c->loop);
}

static int explain_error(const struct session_client *c, int error, const char *doing,
			 struct err_text *e)
{
	switch (error) {
	case -EPIPE:
		return err_set(e, error, "the tracing service disconnected while %s", doing);
	case -ENOSYS:
		return err_set(e, error, "the tracing service is too old: it does not support %s",
			       doing);
	case -EPROTO:
		return err_set(e, error, "the tracing service reported an error while %s", doing);
	case -ETIMEDOUT:
		return err_set(e, error,
			       "the tracing service on %s does not answer; gave up while %s",
			       c->address, doing);
	default:
		return err_set(e, error, "%s failed: %s", doing, strerror(-error));
	}
}

/* Runs the loop until the answer. sent: result of the request function. */
static int wait_for_answer(struct session_client *c, int sent, uint32_t timeout_ms,
			   const char *doing, struct err_text *e)
{
	int r = sent;

	if (r == 0) {
		event_timer_ms(c->timer, timeout_ms);
		while (!c->done && !c->timed_out && !c->lost)
			event_base_dispatch(c->loop);
		event_del(c->timer);
		r = c->done ? c->error : c->timed_out ? -ETIMEDOUT : -EPIPE;
	}
	c->done = c->timed_out = false;
	return r == 0 ? 0 : explain_error(c, r, doing, e);
}

/* Stores the message of a reply, for the function that sent the request and waits. */
static void session_client_on_message(struct session_client *c,
				      const ProtobufCMessageDescriptor *type, int error,
				      const void *data, size_t len)
{
	c->message = answer_unpack(type, &error, data, len);
	end_wait(c, error);
}

static int deliver_reply(struct session_client *c, void *ret, struct err_text *e)
{
	if (!c->message)
		return err_set(e, -ENOMEM, "out of memory");
	*(ProtobufCMessage **)ret = TAKE_PTR(c->message);
	return 0;
}

/* ---- connecting ---- */

static void session_client_on_connected(void *ctx, int error)
{
	end_wait(ctx, error);
}

static void session_client_on_disconnected(void *ctx)
{
	struct session_client *c = ctx;

	c->lost = true;
	event_base_loopbreak(c->loop);
}

static const struct consumer_ops consumer_ops = {session_client_on_connected,
						 session_client_on_disconnected};

DEFINE_DESTRUCTOR(struct session_client *, session_client_free)

int session_client_open(const char *socket, struct session_client **ret, struct err_text *e)
{
	_cleanup_(session_client_freep) struct session_client *c = calloc(1, sizeof(*c));
	struct channel_target target = {.of_program = true};
	int r;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->address = socket ? socket : sock_default_consumer();
	target.address = c->address;
	c->loop = event_base_new();
	c->io = c->loop ? event_base_loop_new(c->loop) : NULL;
	c->timer = c->loop ? evtimer_new(c->loop, session_client_on_timer, c) : NULL;
	if (!c->timer || !c->io)
		return err_set(e, -ENOMEM, "out of memory");
	r = consumer_connect(c->io, &target, &consumer_ops, c, &c->consumer);
	if (r < 0)
		return service_explain(c->address, r, e);
	r = wait_for_answer(c, 0, CONNECT_TIMEOUT_MS, "connecting", e);
	if (r == -ETIMEDOUT)
		service_explain(c->address, r, e);
	if (r == 0)
		*ret = TAKE_PTR(c);
	return r;
}

void session_client_free(struct session_client *c)
{
	if (!c)
		return;
	consumer_free(c->consumer);
	event_base_loop_free(c->io);
	answer_freep(&c->message);
	packet_read_deinit(&c->reading);
	event_freep(&c->timer);
	event_base_freep(&c->loop);
	free(c);
}

/* ---- state ---- */

static void session_client_on_state(void *ctx, int error, const void *data, size_t len)
{
	session_client_on_message(ctx, &pb__tracing_service_state__descriptor, error, data, len);
}

int session_client_query(struct session_client *c, bool sessions_only,
			 Pb__TracingServiceState **ret, struct err_text *e)
{
	int r = wait_for_answer(
		c, consumer_query_state(c->consumer, sessions_only, session_client_on_state, c),
		ANSWER_TIMEOUT_MS, "querying its sessions", e);

	return r < 0 ? r : deliver_reply(c, ret, e);
}

bool session_client_nearest_name(struct session_client *c, const char *name,
				 char ret[static STR_NEAREST_SIZE])
{
	Pb__TracingServiceState *state;
	struct str_nearest nearest;
	struct err_text ignored;

	str_nearest_init(&nearest, name);
	if (session_client_query(c, true, &state, &ignored) < 0)
		return false;
	for (size_t i = 0; i < state->n_tracing_sessions; i++)
		if (state->tracing_sessions[i]->unique_session_name)
			str_nearest_try_copy(&nearest,
					     state->tracing_sessions[i]->unique_session_name, ret);
	pb__tracing_service_state__free_unpacked(state, NULL);
	str_make_plain(ret, str_nearest_get(&nearest) ? strlen(ret) : 0, "");
	return str_nearest_get(&nearest) != NULL;
}

/* ---- clones ---- */

static void session_client_on_cloned(void *ctx, int error,
				     const struct consumer_clone_answer *answer)
{
	struct session_client *c = ctx;

	c->clone_good = answer && answer->success;
	c->clone_written = answer && answer->was_written;
	err_set(&c->said, 0, "%s", answer && *answer->error ? answer->error : "no reason given");
	end_wait(c, error);
}

int session_client_clone(struct session_client *c, const struct consumer_clone_request *request,
			 int fd, bool *ret_written, struct err_text *e)
{
	int r = wait_for_answer(
		c, consumer_clone(c->consumer, request, fd, session_client_on_cloned, c),
		CLONE_TIMEOUT_MS, "making a snapshot", e);

	if (r < 0)
		return r;
	if (!c->clone_good)
		return err_set(e, -EPROTO, "the tracing service refused the snapshot: %s",
			       c->said.text);
	*ret_written = c->clone_written;
	return 0;
}

const char *session_client_clone_refusal(const struct session_client *c)
{
	return c->said.text;
}

/* ---- our session ---- */

static void on_attached(void *ctx, int error, const void *data, size_t len)
{
	session_client_on_message(ctx, &pb__trace_config__descriptor, error, data, len);
}

int session_client_attach(struct session_client *c, const char *key, Pb__TraceConfig **ret,
			  struct err_text *e)
{
	char nearest[STR_NEAREST_SIZE];
	int sent = consumer_attach(c->consumer, key, on_attached, c);
	int r = wait_for_answer(c, sent, ANSWER_TIMEOUT_MS, "attaching", e);

	if (r == -EPROTO && session_client_nearest_name(c, key, nearest))
		return err_set(e, r,
			       "this user has no detached session named '%.200s'; did you mean %s?",
			       key, nearest);
	if (r == -EPROTO)
		return err_set(e, r,
			       "this user has no detached session named '%.200s'; if the session "
			       "has ended, read the file that it wrote: sonda info FILE",
			       key);
	return r < 0 ? r : deliver_reply(c, ret, e);
}

int session_client_detach(struct session_client *c, const char *key, struct err_text *e)
{
	return wait_for_answer(c, consumer_detach(c->consumer, key, session_client_on_done, c),
			       ANSWER_TIMEOUT_MS, "detaching", e);
}

static void session_client_on_ended(void *ctx, int error, const char *text)
{
	struct session_client *c = ctx;

	c->ended = true;
	err_set(&c->end_text, 0, "%s", error && error != -EPIPE ? strerror(-error) : text);
	event_base_loopbreak(c->loop);
}

static void session_client_on_signal(void *ctx, int number, bool by_terminal)
{
	struct session_client *c = ctx;

	c->signals++;
	event_base_loopbreak(c->loop);
}

int session_client_enable(struct session_client *c, const Pb__TraceConfig *config, int fd,
			  struct err_text *e)
{
	size_t len = pb__trace_config__get_packed_size(config);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);
	int r;

	if (!bytes)
		return err_set(e, -ENOMEM, "out of memory");
	pb__trace_config__pack(config, bytes);
	r = consumer_enable(c->consumer, bytes, len, fd, session_client_on_ended, c);
	c->is_ours = r == 0;
	return r < 0 ? explain_error(c, r, "starting a session", e) : 0;
}

static void session_client_on_observed(void *ctx, int error, const void *data, size_t len,
				       bool last)
{
	_cleanup_(answer_freep) Pb__ObservableEvents *events = NULL;
	struct session_client *c = ctx;

	if (!last)
		events = answer_unpack(&pb__observable_events__descriptor, &error, data, len);
	/* A service that refuses the request will not report the start. */
	if (error || (events && events->all_data_sources_started))
		c->started = true;
	if (events && events->clone_trigger_hit && c->on_hit)
		c->on_hit(c->on_hit_ctx, events->clone_trigger_hit);
	event_base_loopbreak(c->loop);
}

/* Subscribes at the first call only: another request would replace the first one. */
static int subscribe_to_events(struct session_client *c)
{
	uint32_t events = PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED;
	int r;

	if (c->observing)
		return 0;
	if (c->on_hit)
		events |= PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT;
	r = consumer_observe(c->consumer, events, session_client_on_observed, c);
	c->observing = r == 0;
	return r;
}

int session_client_watch_clone_triggers(
	struct session_client *c,
	void (*fn)(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit), void *ctx,
	struct err_text *e)
{
	int r;

	c->on_hit = fn;
	c->on_hit_ctx = ctx;
	r = subscribe_to_events(c);
	return r < 0 ? explain_error(c, r, "waiting for triggers", e) : 0;
}

int session_client_watch_start(struct session_client *c, struct err_text *e)
{
	int r = subscribe_to_events(c);

	return r < 0 ? explain_error(c, r, "waiting for the start", e) : 0;
}

int session_client_await_start(struct session_client *c, uint32_t timeout_ms, struct err_text *e)
{
	int r;

	event_timer_ms(c->timer, timeout_ms);
	while (!c->started && !c->ended && !c->lost && !c->timed_out)
		event_base_dispatch(c->loop);
	event_del(c->timer);
	r = c->timed_out ? -ETIMEDOUT : c->ended || c->lost ? -EPROTO : 0;
	c->timed_out = false;
	return r < 0 ? explain_error(c, r, "waiting for the start", e) : 0;
}

/* Flushes and stops the session. A failed flush loses the data that producers still hold, but the
 * rest can be read: it only sets end->flush_failed. */
static int session_client_stop(struct session_client *c, const Pb__TraceConfig *config,
			       struct session_end *end, struct err_text *e)
{
	uint32_t flush_ms =
		config->flush_timeout_ms ? config->flush_timeout_ms : DEFAULT_FLUSH_TIMEOUT_MS;
	int r = wait_for_answer(c,
				consumer_flush(c->consumer, 0, FLUSH_REASON_STOP | FLUSH_BY_CLI,
					       session_client_on_done, c),
				flush_ms + ANSWER_TIMEOUT_MS, "flushing the data", e);

	if (r == -EPIPE || r == -ETIMEDOUT)
		return r;
	end->flush_failed = r != 0;
	return wait_for_answer(c, consumer_disable(c->consumer, session_client_on_done, c),
			       ANSWER_TIMEOUT_MS, "stopping", e);
}

static int session_client_wait_for_end(struct session_client *c, uint32_t timeout_ms,
				       struct err_text *e)
{
	unsigned signals = c->signals;

	if (timeout_ms)
		event_timer_ms(c->timer, timeout_ms);
	while (!c->ended && !c->lost && !c->timed_out && c->signals == signals)
		event_base_dispatch(c->loop);
	event_del(c->timer);
	if (c->lost || c->timed_out)
		return explain_error(c, c->lost ? -EPIPE : -ETIMEDOUT,
				     "waiting for the session to end", e);
	return 0;
}

static int wait_and_stop(struct session_client *c, const Pb__TraceConfig *config, bool at_once,
			 struct session_end *end, struct err_text *e)
{
	uint32_t stop_ms = config->data_source_stop_timeout_ms ? config->data_source_stop_timeout_ms
							       : DEFAULT_STOP_TIMEOUT_MS;
	int r = c->is_ours ? 0 : consumer_await_end(c->consumer, session_client_on_ended, c);

	if (r < 0)
		return explain_error(c, r, "waiting for the session to end", e);
	if (!at_once)
		r = session_client_wait_for_end(c, 0, e);
	if (r == 0 && !c->ended)
		r = session_client_stop(c, config, end, e);
	if (r == 0 && !c->ended)
		r = session_client_wait_for_end(c, stop_ms + ANSWER_TIMEOUT_MS, e);
	if (r == 0 && !c->ended)
		return err_set(e, -EINTR, "aborted: nothing was saved");
	return r;
}

int session_client_end(struct session_client *c, const Pb__TraceConfig *config, bool at_once,
		       struct session_end *ret, struct err_text *e)
{
	struct termination_signals *signals;
	int r = termination_signals_watch(c->loop, END_SIGNALS_SAME_MS, session_client_on_signal, c,
					  &signals);

	if (r < 0)
		return err_set(e, r, "out of memory");
	*ret = (struct session_end){0};
	r = wait_and_stop(c, config, at_once, ret, e);
	termination_signals_free(signals);
	ret->by_signal = c->signals > 0;
	ret->aborted = c->end_text;
	return r;
}

/* ---- counters ---- */

static void session_client_on_stats(void *ctx, int error, const void *data, size_t len)
{
	_cleanup_(answer_freep) Pb__TraceStats *stats = NULL;
	struct session_client *c = ctx;

	stats = answer_unpack(&pb__trace_stats__descriptor, &error, data, len);
	if (stats)
		service_stats_from_message(stats, c->stats);
	end_wait(c, error);
}

int session_client_query_stats(struct session_client *c, struct service_stats *ret,
			       struct err_text *e)
{
	c->stats = ret;
	return wait_for_answer(c, consumer_stats(c->consumer, session_client_on_stats, c),
			       ANSWER_TIMEOUT_MS, "reading the counters", e);
}

/* ---- reading ---- */

static void session_client_on_activity(void *ctx)
{
	const struct session_client *c = ctx;

	event_timer_ms(c->timer, ANSWER_TIMEOUT_MS);
}

static int session_client_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct session_client *c = ctx;
	int error = trace_file_add_packet(c->file, data, len);

	if (!error)
		trace_scan_packet(c->scan, data, len);
	return error;
}

static const struct packet_read_ops read_ops = {session_client_on_activity,
						session_client_on_packet, session_client_on_done};

int session_client_save(struct session_client *c, struct trace_file *file, struct trace_scan *scan,
			struct err_text *e)
{
	int r;

	c->file = file;
	c->scan = scan;
	r = wait_for_answer(c, packet_read_start(&c->reading, c->consumer, &read_ops, c),
			    ANSWER_TIMEOUT_MS, "reading the trace", e);
	if (r < 0 && !trace_file_error(file))
		return r;
	if (trace_file_bytes(file) == 0 && !trace_file_error(file))
		return err_set(e, -ENODATA, "the trace is empty");
	trace_readback_rescan(file, scan);
	return trace_file_save(file, e);
}
