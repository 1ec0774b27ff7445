// SPDX-License-Identifier: Apache-2.0
/*
 * Each request is one call of the connection and a record of its callback and of how to convert the
 * reply into the callback's arguments. The record lives from the call to its last reply. A stream
 * with an invalid reply keeps its record, without callbacks, until the service ends the stream.
 *
 *	consumer_stats() --> request{on_stats} --> connection_call("GetTraceStats")
 *	    done(stats)  <-- consumer_on_stats()       <-- connection_reply{bytes}
 */

#include "client/transport/consumer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "client/transport/connection.h"
#include "client/transport/consumer_request.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

/* ---- connection ---- */

static void consumer_on_bound(void *ctx)
{
	struct consumer *c = ctx;

	c->bound = true;
	c->ops->on_connected(c->ctx, 0);
}

static void consumer_on_lost(void *ctx, int error)
{
	struct consumer *c = ctx;

	if (c->bound)
		c->ops->on_disconnected(c->ctx);
	else
		c->ops->on_connected(c->ctx, error ? error : -EPROTO);
}

static const struct connection_ops connection_ops = {
	.on_bound = consumer_on_bound,
	.on_lost = consumer_on_lost,
};

int consumer_connect(struct event_base *loop, const char *socket, const struct consumer_ops *ops,
		     void *ctx, struct consumer **ret)
{
	struct consumer *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return -ENOMEM;
	c->ops = ops;
	c->ctx = ctx;
	LIST_INIT(&c->open);
	error = connection_new(loop, socket ? socket : sock_default_consumer(), "ConsumerPort",
			       &connection_ops, c, &c->conn);
	if (error) {
		free(c);
		return error;
	}
	*ret = c;
	return 0;
}

void consumer_free(struct consumer *c)
{
	struct request *r;

	if (!c)
		return;
	if (c->freed)
		*c->freed = true;
	connection_free(c->conn);
	while ((r = LIST_FIRST(&c->open)))
		request_free(r);
	free(c);
}

/* ---- requests with an empty reply ---- */

static void consumer_on_done(struct request *r, const struct connection_reply *reply)
{
	consumer_done done = r->fn.done;
	int error = reply->error;
	void *ctx = r->ctx;

	request_retire(r, reply);
	done(ctx, error);
}

static struct request *request_new_done(struct consumer *c, consumer_done done, void *ctx)
{
	struct request *r = request_new(c, consumer_on_done, ctx);

	if (r)
		r->fn.done = done;
	return r;
}

static int call_without_args(struct consumer *c, const char *method, consumer_done done, void *ctx)
{
	struct request *r = request_new_done(c, done, ctx);

	return r ? request_send(r, method, NULL, 0, -1) : -ENOMEM;
}

int consumer_start(struct consumer *c, consumer_done done, void *ctx)
{
	return call_without_args(c, "StartTracing", done, ctx);
}

int consumer_disable(struct consumer *c, consumer_done done, void *ctx)
{
	return call_without_args(c, "DisableTracing", done, ctx);
}

int consumer_free_buffers(struct consumer *c, consumer_done done, void *ctx)
{
	return call_without_args(c, "FreeBuffers", done, ctx);
}

int consumer_flush(struct consumer *c, uint32_t timeout_ms, uint64_t flags, consumer_done done,
		   void *ctx)
{
	Pb__FlushRequest args = PB__FLUSH_REQUEST__INIT;
	struct request *r = request_new_done(c, done, ctx);

	if (!r)
		return -ENOMEM;
	args.has_timeout_ms = timeout_ms != 0;
	args.timeout_ms = timeout_ms;
	args.has_flags = flags != 0;
	args.flags = flags;
	return request_send_msg(r, "Flush", &args.base, -1);
}

/* ---- a session ---- */

static void on_enabled(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const char *) = r->fn.enabled;
	Pb__EnableTracingResponse *m;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__enable_tracing_response__descriptor, reply, &error);
	request_retire(r, reply);
	done(ctx, error, m && m->error ? m->error : "");
	request_free_message(m);
}

int consumer_enable(struct consumer *c, const void *config, size_t len, int fd,
		    void (*done)(void *ctx, int error, const char *error_text), void *ctx)
{
	struct request *r;
	struct pb_mem args;
	int error;

	error = pb_mem_init(&args);
	if (error)
		return error;
	/* Unchanged: fields unknown to us reach the service. */
	pb_enc_bytes(&args.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config, len);
	r = args.failed ? NULL : request_new(c, on_enabled, ctx);
	if (r) {
		r->fn.enabled = done;
		error = request_send(r, "EnableTracing", args.buf, pb_mem_len(&args), fd);
	} else {
		error = -ENOMEM;
	}
	pb_mem_deinit(&args);
	return error;
}

/* Passes one slice to the callback. Returns false if the callback freed the consumer. */
static bool give_slice(struct request *r, const struct pb_field *slice, int *error)
{
	const uint8_t *data = NULL;
	bool freed = false, ends = false;
	struct pb_field f;
	struct pb_dec d;
	size_t len = 0;

	pb_dec_init(&d, slice->data, slice->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_DATA && f.data) {
			data = f.data;
			len = f.len;
		} else if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET) {
			ends = f.u64 != 0;
		}
	}
	if (!pb_dec_ok(&d)) {
		*error = -EPROTO;
		return true;
	}
	r->consumer->freed = &freed;
	r->fn.slice(r->ctx, 0, data, len, ends, false);
	if (!freed)
		r->consumer->freed = NULL;
	return !freed;
}

/* Passes slices directly from the socket's buffer, without a message object for each. */
static void on_slices(struct request *r, const struct connection_reply *reply)
{
	consumer_slice fn = r->fn.slice;
	int error = reply->error;
	void *ctx = r->ctx;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, reply->data, error ? 0 : reply->len);
	while (!error && pb_dec_next(&d, &f)) {
		if (f.id != PB_READ_BUFFERS_RESPONSE_SLICES)
			continue;
		if (!f.data)
			error = -EPROTO;
		else if (!give_slice(r, &f, &error))
			return;
	}
	if (!error && !pb_dec_ok(&d))
		error = -EPROTO;
	if (!error && reply->has_more)
		return;
	request_retire(r, reply);
	fn(ctx, error, NULL, 0, false, true);
}

int consumer_read(struct consumer *c, consumer_slice slice, void *ctx)
{
	struct request *r = request_new(c, on_slices, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.slice = slice;
	return request_send(r, "ReadBuffers", NULL, 0, -1);
}

static void consumer_on_stats(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const Pb__TraceStats *) = r->fn.stats;
	Pb__TraceStats nothing = PB__TRACE_STATS__INIT;
	Pb__GetTraceStatsResponse *m;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__get_trace_stats_response__descriptor, reply, &error);
	request_retire(r, reply);
	if (m)
		done(ctx, 0, m->trace_stats ? m->trace_stats : &nothing);
	else
		done(ctx, error, NULL);
	request_free_message(m);
}

int consumer_stats(struct consumer *c,
		   void (*done)(void *ctx, int error, const Pb__TraceStats *stats), void *ctx)
{
	struct request *r = request_new(c, consumer_on_stats, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.stats = done;
	return request_send(r, "GetTraceStats", NULL, 0, -1);
}

/* ---- the service ---- */

/* Appends a part of a reply. Concatenated parts of a message are that message. */
static int gather_state(struct request *r, const struct connection_reply *reply)
{
	struct pb_field f;
	struct pb_dec d;

	if (reply->error)
		return reply->error;
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE || !f.data)
			continue;
		if (f.len > CONSUMER_MAX_STATE - r->gathered.len)
			return -EPROTO;
		strbuf_add(&r->gathered, f.data, f.len);
	}
	if (r->gathered.failed)
		return -ENOMEM;
	return pb_dec_ok(&d) ? 0 : -EPROTO;
}

static void consumer_on_state(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const Pb__TracingServiceState *) = r->fn.state;
	int error = gather_state(r, reply);
	ProtobufCMessage *m = NULL;
	void *ctx = r->ctx;

	if (!error && reply->has_more)
		return;
	if (!error && unpack_untrusted(&pb__tracing_service_state__descriptor, r->gathered.s,
				       r->gathered.len, &m))
		error = -EPROTO;
	request_retire(r, reply);
	done(ctx, error, (Pb__TracingServiceState *)m);
	request_free_message(m);
}

int consumer_query_state(struct consumer *c, bool sessions_only,
			 void (*done)(void *ctx, int error, const Pb__TracingServiceState *state),
			 void *ctx)
{
	Pb__QueryServiceStateRequest args = PB__QUERY_SERVICE_STATE_REQUEST__INIT;
	struct request *r = request_new(c, consumer_on_state, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.state = done;
	args.has_sessions_only = sessions_only;
	args.sessions_only = sessions_only;
	return request_send_msg(r, "QueryServiceState", &args.base, -1);
}

static void consumer_on_observed(struct request *r, const struct connection_reply *reply)
{
	void (*event)(void *, int, const Pb__ObservableEvents *, bool) = r->fn.event;
	Pb__ObserveEventsResponse *m;
	bool freed = false, last;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__observe_events_response__descriptor, reply, &error);
	last = error || !reply->has_more;
	if (m && m->events) {
		r->consumer->freed = &freed;
		event(ctx, 0, m->events, false);
		if (!freed)
			r->consumer->freed = NULL;
	}
	request_free_message(m);
	if (freed || !last)
		return;
	request_retire(r, reply);
	event(ctx, error, NULL, true);
}

int consumer_observe(struct consumer *c, uint32_t events,
		     void (*event)(void *ctx, int error, const Pb__ObservableEvents *events,
				   bool last),
		     void *ctx)
{
	Pb__ObserveEventsRequest args = PB__OBSERVE_EVENTS_REQUEST__INIT;
	Pb__ObservableEvents__Type types[32];
	struct request *r = request_new(c, consumer_on_observed, ctx);
	unsigned bit;

	if (!r)
		return -ENOMEM;
	r->fn.event = event;
	args.events_to_observe = types;
	for (bit = 0; bit < 32; bit++)
		if (events & 1u << bit)
			types[args.n_events_to_observe++] = (Pb__ObservableEvents__Type)(1u << bit);
	return request_send_msg(r, "ObserveEvents", &args.base, -1);
}

/* ---- existing sessions ---- */

static void consumer_on_cloned(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const Pb__CloneSessionResponse *) = r->fn.cloned;
	Pb__CloneSessionResponse *m;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__clone_session_response__descriptor, reply, &error);
	request_retire(r, reply);
	done(ctx, error, m);
	request_free_message(m);
}

/* Adds the trigger, so that the clone contains its reason. */
static void consumer_put_trigger(const Pb__ObservableEvents__CloneTriggerHit *hit,
				 Pb__CloneSessionRequest *ret)
{
	ret->clone_trigger_name = hit->trigger_name;
	ret->clone_trigger_producer_name = hit->producer_name;
	ret->has_clone_trigger_trusted_producer_uid = hit->has_producer_uid;
	ret->clone_trigger_trusted_producer_uid = (int32_t)hit->producer_uid;
	ret->has_clone_trigger_boot_time_ns = hit->has_boot_time_ns;
	ret->clone_trigger_boot_time_ns = hit->boot_time_ns;
	ret->has_clone_trigger_delay_ms = hit->has_trigger_delay_ms;
	ret->clone_trigger_delay_ms = hit->trigger_delay_ms;
}

int consumer_clone(struct consumer *c, const struct consumer_clone_request *request, int fd,
		   void (*done)(void *ctx, int error, const Pb__CloneSessionResponse *answer),
		   void *ctx)
{
	Pb__CloneSessionRequest args = PB__CLONE_SESSION_REQUEST__INIT;
	struct request *r = request_new(c, consumer_on_cloned, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.cloned = done;
	if (request->name) {
		args.selector_case = PB__CLONE_SESSION_REQUEST__SELECTOR_UNIQUE_SESSION_NAME;
		args.unique_session_name = (char *)request->name;
	} else {
		args.selector_case = PB__CLONE_SESSION_REQUEST__SELECTOR_SESSION_ID;
		args.session_id = request->session_id;
	}
	args.has_skip_trace_filter = request->skip_filter;
	args.skip_trace_filter = request->skip_filter;
	if (request->trigger)
		consumer_put_trigger(request->trigger, &args);
	return request_send_msg(r, "CloneSession", &args.base, fd);
}

int consumer_detach(struct consumer *c, const char *key, consumer_done done, void *ctx)
{
	Pb__DetachRequest args = PB__DETACH_REQUEST__INIT;
	struct request *r = request_new_done(c, done, ctx);

	if (!r)
		return -ENOMEM;
	args.key = (char *)key;
	return request_send_msg(r, "Detach", &args.base, -1);
}

static void on_attached(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const Pb__TraceConfig *) = r->fn.attached;
	Pb__TraceConfig nothing = PB__TRACE_CONFIG__INIT;
	Pb__AttachResponse *m;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__attach_response__descriptor, reply, &error);
	request_retire(r, reply);
	if (m)
		done(ctx, 0, m->trace_config ? m->trace_config : &nothing);
	else
		done(ctx, error, NULL);
	request_free_message(m);
}

int consumer_attach(struct consumer *c, const char *key,
		    void (*done)(void *ctx, int error, const Pb__TraceConfig *config), void *ctx)
{
	Pb__AttachRequest args = PB__ATTACH_REQUEST__INIT;
	struct request *r = request_new(c, on_attached, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.attached = done;
	args.key = (char *)key;
	return request_send_msg(r, "Attach", &args.base, -1);
}

int consumer_await_end(struct consumer *c,
		       void (*done)(void *ctx, int error, const char *error_text), void *ctx)
{
	Pb__EnableTracingRequest args = PB__ENABLE_TRACING_REQUEST__INIT;
	struct request *r = request_new(c, on_enabled, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.enabled = done;
	args.has_attach_notification_only = args.attach_notification_only = true;
	return request_send_msg(r, "EnableTracing", &args.base, -1);
}
