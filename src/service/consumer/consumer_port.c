/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most methods reply before they act. So messages that the action itself sends, such as the reply
 * to EnableTracing, follow the reply of the method.
 */
#include "service/consumer/consumer_port.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "common/observable_events.pb-c.h"
#include "gen/fields.h"
#include "service/consumer/clone.h"
#include "service/consumer/consumer_session.h"
#include "service/consumer/consumer_state.h"
#include "service/ipc/ipc_host.h"
#include "service/ipc/limits.h"
#include "service/ipc/msgsock.h"
#include "service/ipc/request_decode.h"
#include "service/producer/producer_port.h"
#include "service/producer/producers.h"
#include "service/session/session.h"
#include "service/session/sessions.h"
#include "service/trace/service_packets.h"
#include "wire/frame.h"
#include "wire/pb_enc.h"

/*
 * QueryServiceState answers in a stream of replies. Each one is a TracingServiceState that fits a
 * frame, and the consumer concatenates them. A reply is sent when the next entry would not fit.
 */

#define MAX_STATE_BYTES (MSGSOCK_MAX_MESSAGE - FRAME_MAX_HEAD - 8)
#define MAX_SOURCE_HEAD 32 /* bytes around a descriptor in an entry */

struct answer {
	struct consumer_port *consumer;
	const struct ipc_call *call;
	struct pb_mem state; /* the TracingServiceState of the next reply */
	struct pb_mem entry; /* the field that is to be added to it */
};

static void send_service_state(struct answer *a, bool has_more)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (a->state.failed || pb_mem_init(&m) < 0) {
		a->state.failed = true;
		return;
	}
	pb_enc_bytes(&m.enc, PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, a->state.buf,
		     pb_mem_len(&a->state));
	a->state.failed = m.failed;
	if (!m.failed)
		ipc_reply(a->consumer->conn, a->call, has_more, m.buf, pb_mem_len(&m), -1);
}

static void query_add_entry(struct answer *a)
{
	if (pb_mem_len(&a->state) + pb_mem_len(&a->entry) > MAX_STATE_BYTES) {
		send_service_state(a, true);
		if (!a->state.failed)
			pb_mem_reset(&a->state);
	}
	pb_enc_raw(&a->state.enc, a->entry.buf, pb_mem_len(&a->entry));
	a->state.failed |= a->entry.failed;
	if (!a->entry.failed)
		pb_mem_reset(&a->entry);
}

/* ---- entries ---- */

static void query_add_producer(struct answer *a, const struct producer_port *p)
{
	struct pb_enc *e = &a->entry.enc;

	pb_enc_open(e, PB_TRACING_SERVICE_STATE_PRODUCERS);
	pb_enc_u64(e, PB_TRACING_SERVICE_STATE_PRODUCER_ID, p->id);
	pb_enc_str(e, PB_TRACING_SERVICE_STATE_PRODUCER_NAME, p->name);
	pb_enc_i64(e, PB_TRACING_SERVICE_STATE_PRODUCER_UID, (int32_t)p->peer->uid);
	if (p->sdk_version)
		pb_enc_str(e, PB_TRACING_SERVICE_STATE_PRODUCER_SDK_VERSION, p->sdk_version);
	pb_enc_i64(e, PB_TRACING_SERVICE_STATE_PRODUCER_PID, p->peer->pid);
	if (p->peer->machine_id)
		pb_enc_u64(e, PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_ID, p->peer->machine_id);
	if (p->peer->machine_name)
		pb_enc_str(e, PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_NAME,
			   p->peer->machine_name);
	pb_enc_close(e);
	query_add_entry(a);
}

static void query_add_source(struct answer *a, const struct registered_source *r)
{
	struct pb_enc *e = &a->entry.enc;

	pb_enc_open(e, PB_TRACING_SERVICE_STATE_DATA_SOURCES);
	if (r->descriptor_len + MAX_SOURCE_HEAD <= MAX_STATE_BYTES) {
		pb_enc_bytes(e, PB_TRACING_SERVICE_STATE_DATA_SOURCE_DS_DESCRIPTOR, r->descriptor,
			     r->descriptor_len);
	} else {
		/* The descriptor arrived in one frame, but the reply with the fields around it
		 * would exceed a frame. */
		pb_enc_open(e, PB_TRACING_SERVICE_STATE_DATA_SOURCE_DS_DESCRIPTOR);
		pb_enc_str(e, PB_DATA_SOURCE_DESCRIPTOR_NAME, r->name);
		pb_enc_close(e);
	}
	pb_enc_i64(e, PB_TRACING_SERVICE_STATE_DATA_SOURCE_PRODUCER_ID, r->producer->id);
	if (r->left_out)
		pb_enc_bool(e, PB_TRACING_SERVICE_STATE_DATA_SOURCE_LEFT_OUT, true);
	pb_enc_close(e);
	query_add_entry(a);
}

static void add_session_to_state(struct answer *a, const struct session *s)
{
	const Pb__TraceConfig *c = session_config(s);
	struct pb_enc *e = &a->entry.enc;

	pb_enc_open(e, PB_TRACING_SERVICE_STATE_TRACING_SESSIONS);
	pb_enc_u64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_ID, session_id(s));
	pb_enc_i64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_CONSUMER_UID,
		   (int32_t)session_uid(s));
	pb_enc_str(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_STATE,
		   session_state_name(session_state(s)));
	if (c->unique_session_name)
		pb_enc_str(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_UNIQUE_SESSION_NAME,
			   c->unique_session_name);
	for (size_t i = 0; i < c->n_buffers; i++)
		pb_enc_u64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_BUFFER_SIZE_KB,
			   c->buffers[i]->size_kb);
	pb_enc_u64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_DURATION_MS, c->duration_ms);
	pb_enc_u64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_NUM_DATA_SOURCES,
		   session_n_instances(s));
	if (trace_start_realtime_ns(session_trace(s)))
		pb_enc_i64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_START_REALTIME_NS,
			   trace_start_realtime_ns(session_trace(s)));
	if (c->has_bugreport_score)
		pb_enc_i64(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_BUGREPORT_SCORE,
			   c->bugreport_score);
	if (c->bugreport_filename)
		pb_enc_str(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_BUGREPORT_FILENAME,
			   c->bugreport_filename);
	pb_enc_bool(e, PB_TRACING_SERVICE_STATE_TRACING_SESSION_IS_STARTED,
		    session_state(s) == SESSION_STARTED);
	session_put_departures(s, PB_TRACING_SERVICE_STATE_TRACING_SESSION_DEPARTURES, e);
	pb_enc_close(e);
	query_add_entry(a);
}

/* Returns true if the consumer may see the session: it belongs to its user, or the consumer is
 * root. */
static bool may_see_session(const struct consumer_port *c, const struct session *s)
{
	return c->uid == 0 || c->uid == session_uid(s);
}

static void add_sessions_to_state(struct answer *a)
{
	const struct sessions *v = a->consumer->sessions;
	struct pb_enc *e = &a->entry.enc;
	const struct session *s = NULL;
	unsigned started = 0;

	while ((s = sessions_next(v, s)))
		started += session_state(s) == SESSION_STARTED;
	pb_enc_u64(e, PB_TRACING_SERVICE_STATE_NUM_SESSIONS, sessions_count(v));
	pb_enc_u64(e, PB_TRACING_SERVICE_STATE_NUM_SESSIONS_STARTED, started);
	pb_enc_str(e, PB_TRACING_SERVICE_STATE_TRACING_SERVICE_VERSION, SERVICE_VERSION);
	pb_enc_bool(e, PB_TRACING_SERVICE_STATE_SUPPORTS_TRACING_SESSIONS, true);
	query_add_entry(a);
	while ((s = sessions_next(v, s)))
		if (may_see_session(a->consumer, s))
			add_session_to_state(a, s);
}

static void add_producers_to_state(struct answer *a)
{
	const struct sessions *v = a->consumer->sessions;
	const struct registered_source *r;
	const struct producer_port *p;

	TAILQ_FOREACH (p, &v->producers->list, link)
		query_add_producer(a, p);
	TAILQ_FOREACH (r, &v->producers->registry.sources, link)
		query_add_source(a, r);
}

/* ---- methods ---- */

static int decode_request(const uint8_t *args, size_t len, bool *ret_sessions_only)
{
	struct pb_field f;
	struct pb_dec d;
	bool only = false;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_VARINT(PB_QUERY_SERVICE_STATE_REQUEST_SESSIONS_ONLY))
			only = f.u64 != 0;
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	*ret_sessions_only = only;
	return 0;
}

static int query_service_state(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			       size_t len)
{
	struct answer a = {.consumer = endpoint, .call = call};
	bool sessions_only;
	int r = decode_request(args, len, &sessions_only);

	if (r == 0)
		r = pb_mem_init(&a.state);
	if (r == 0)
		r = pb_mem_init(&a.entry);
	if (r == 0) {
		add_sessions_to_state(&a);
		if (!sessions_only)
			add_producers_to_state(&a);
		send_service_state(&a, false);
		r = a.state.failed ? -ENOMEM : 0;
	}
	pb_mem_deinit(&a.state);
	pb_mem_deinit(&a.entry);
	return r;
}

static int query_capabilities(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			      size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	struct pb_enc *e = &m.enc;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_open(e, PB_QUERY_CAPABILITIES_RESPONSE_CAPABILITIES);
	pb_enc_bool(e, PB_TRACING_SERVICE_CAPABILITIES_HAS_QUERY_CAPABILITIES, true);
	pb_enc_u64(e, PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS,
		   PB__OBSERVABLE_EVENTS__TYPE__TYPE_DATA_SOURCES_INSTANCES);
	pb_enc_u64(e, PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS,
		   PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED);
	pb_enc_u64(e, PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS,
		   PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT);
	pb_enc_bool(e, PB_TRACING_SERVICE_CAPABILITIES_HAS_TRACE_CONFIG_OUTPUT_PATH, true);
	pb_enc_bool(e, PB_TRACING_SERVICE_CAPABILITIES_HAS_CLONE_SESSION, true);
	pb_enc_close(e);
	ipc_reply(c->conn, call, false, m.buf, pb_mem_len(&m), -1);
	return 0;
}

/* ---- the session's life ---- */

static int start_tracing(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			 size_t len)
{
	struct consumer_port *c = endpoint;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	ipc_reply_empty(c->conn, call);
	if (c->session)
		session_start(c->session);
	return 0;
}

static int disable_tracing(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			   size_t len)
{
	struct consumer_port *c = endpoint;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	ipc_reply_empty(c->conn, call);
	if (!c->session)
		return 0;
	session_set_end_reason(c->session, "stopped by the consumer");
	session_disable(c->session, false);
	return 0;
}

static int free_buffers(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len)
{
	struct consumer_port *c = endpoint;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	ipc_reply_empty(c->conn, call);
	consumer_session_end(c);
	return 0;
}

static void consumer_port_on_flushed(void *ctx, const struct ipc_call *call, bool success)
{
	struct consumer_port *c = ctx;

	if (success)
		ipc_reply_empty(c->conn, call);
	else
		ipc_reject(c->conn, call);
}

static int flush_session(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			 size_t len)
{
	struct consumer_port *c = endpoint;
	struct flush_request request = {.done = consumer_port_on_flushed, .ctx = c, .call = *call};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_FLUSH_REQUEST_TIMEOUT_MS):
			request.timeout_ms = (uint32_t)f.u64;
			break;
		case KEY_VARINT(PB_FLUSH_REQUEST_FLAGS):
			request.flags = f.u64;
			break;
		}
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	if (!c->session)
		return -ENOENT;
	return session_flush(c->session, &request);
}

/* ---- the session's data ---- */

static int read_buffers(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len)
{
	struct consumer_port *c = endpoint;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	return reader_begin(&c->reader, call,
			    c->session && session_is_readable(c->session) ? c->session : NULL);
}

static int get_trace_stats(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			   size_t len)
{
	/* The last writer may exceed the limit by its own size. */
	const size_t max = MSGSOCK_MAX_MESSAGE - FRAME_MAX_HEAD - 1024;
	struct consumer_port *c = endpoint;
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	if (!c->session)
		return -ENOENT;
	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_open(&m.enc, PB_GET_TRACE_STATS_RESPONSE_TRACE_STATS);
	session_put_stats(c->session, &m.enc, max);
	pb_enc_close(&m.enc);
	if (m.failed)
		return -ENOMEM;
	ipc_reply(c->conn, call, false, m.buf, pb_mem_len(&m), -1);
	return 0;
}

static int observe_events(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			  size_t len)
{
	struct consumer_port *c = endpoint;
	struct pb_packed values;
	uint64_t value;
	uint32_t events = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE)
			continue;
		for (values = pb_packed_of(&f); pb_packed_next(&values, &value);)
			events |= (uint32_t)value;
	}
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	observer_begin(&c->observer, call, events, c->session);
	return 0;
}

/* ---- methods that are not supported, whose reply has an error text ---- */

static int reply_unsupported(struct consumer_port *c, const struct ipc_call *call,
			     uint32_t success_field, uint32_t text_field, const char *text)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_bool(&m.enc, success_field, false);
	pb_enc_str(&m.enc, text_field, text);
	ipc_reply(c->conn, call, false, m.buf, pb_mem_len(&m), -1);
	return 0;
}

static int save_trace_for_bugreport(void *endpoint, const struct ipc_call *call,
				    const uint8_t *args, size_t len)
{
	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	return reply_unsupported(endpoint, call, PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_SUCCESS,
				 PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_MSG,
				 "SaveTraceForBugreport is deprecated: use CloneSession");
}

/* ---- the port ---- */

static void consumer_port_close(void *endpoint)
{
	struct consumer_port *c = endpoint;

	clone_cancel(c);
	consumer_session_end(c);
	reader_deinit(&c->reader);
	observer_deinit(&c->observer);
	free(c);
}

static int consumer_port_open(void *ctx, struct ipc_conn *conn, void **ret_endpoint)
{
	struct consumer_port *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->sessions = ctx;
	c->conn = conn;
	c->uid = ipc_conn_peer(conn)->uid;
	c->owner = consumer_session_owner(c);
	r = observer_init(&c->observer, c->sessions->loop, conn);
	if (r == 0)
		r = reader_init(&c->reader, c->sessions->loop, conn, c->sessions->quota, c->uid);
	if (r < 0) {
		consumer_port_close(c);
		return r;
	}
	*ret_endpoint = c;
	return 0;
}

static void on_socket_drained(void *endpoint)
{
	struct consumer_port *c = endpoint;

	reader_on_drained(&c->reader);
}

static const struct ipc_method methods[] = {
	{"EnableTracing", consumer_session_enable},
	{"DisableTracing", disable_tracing},
	{"ReadBuffers", read_buffers},
	{"FreeBuffers", free_buffers},
	{"Flush", flush_session},
	{"StartTracing", start_tracing},
	{"ChangeTraceConfig", consumer_session_change_config},
	{"Detach", consumer_session_detach_call},
	{"Attach", consumer_session_attach_call},
	{"GetTraceStats", get_trace_stats},
	{"ObserveEvents", observe_events},
	{"QueryServiceState", query_service_state},
	{"QueryCapabilities", query_capabilities},
	{"SaveTraceForBugreport", save_trace_for_bugreport},
	{"CloneSession", clone_call},
};

const struct ipc_service consumer_port_service = {
	.name = "ConsumerPort",
	.methods = methods,
	.n_methods = ARRAY_SIZE(methods),
	.open = consumer_port_open,
	.close = consumer_port_close,
	.on_drained = on_socket_drained,
	.send_limit = CONSUMER_SEND_LIMIT,
	.hold_limit = CONSUMER_HOLD_LIMIT,
	.is_urgent = true,
	.connections = QUOTA_CONSUMERS,
};
