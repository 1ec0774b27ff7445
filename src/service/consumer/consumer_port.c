/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most methods reply first and act then. So messages that the action itself sends, such as the
 * reply to EnableTracing, follow the reply of the method.
 */
#include "service/consumer/consumer_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/log.h"
#include "base/core/mem.h"
#include "base/event_loop/msgsock.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "service/consumer/clone.h"
#include "service/ipc/request_decode.h"
#include "service/ipc/limits.h"
#include "service/output/passed_file.h"
#include "service/session/sessions.h"
#include "service/session/session.h"
#include "wire/frame.h"
#include "wire/pb_mem.h"

/* ---- EnableTracing and its end ---- */

static void reply_disabled(struct consumer_port *c, const struct ipc_call *call, const char *error)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (pb_mem_init(&m) < 0) {
		ipc_reject(c->conn, call);
		return;
	}
	pb_enc_bool(&m.enc, PB_ENABLE_TRACING_RESPONSE_DISABLED, true);
	if (error)
		pb_enc_str(&m.enc, PB_ENABLE_TRACING_RESPONSE_ERROR, error);
	ipc_reply(c->conn, call, false, m.buf, pb_mem_len(&m), -1);
}

/* Keeps the call, which is answered when tracing ends. Rejects the call that was kept before. */
static void park_enable(struct consumer_port *c, const struct ipc_call *call)
{
	if (c->has_enable)
		ipc_reject(c->conn, &c->enable);
	c->enable = *call;
	c->has_enable = true;
}

static void tracing_ended(struct consumer_port *c, const char *error)
{
	if (!c->has_enable)
		return;
	c->has_enable = false;
	observe_send(&c->observer); /* events that caused it are sent first */
	reply_disabled(c, &c->enable, error);
}

struct enable_request {
	struct pb_field packed; /* trace_config; its id is 0 without one */
	bool attach_notification_only;
	Pb__TraceConfig *config; /* packed, decoded; owned until a session takes it */
	size_t config_bytes; /* of config, in memory */
};

static void enable_request_deinit(struct enable_request *r)
{
	if (r->config)
		pb__trace_config__free_unpacked(r->config, NULL);
}

/* Returns 0, -EBADMSG, -E2BIG (the config is too large) or -ENOMEM. */
static int enable_request_decode(struct enable_request *r, const uint8_t *args, size_t len)
{
	ProtobufCMessage *m;
	struct pb_field f;
	struct pb_dec d;
	int error;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_BYTES(PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG):
			r->packed = f;
			break;
		case KEY_VARINT(PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY):
			r->attach_notification_only = f.u64 != 0;
			break;
		}
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	if (!r->packed.id)
		return 0;
	error = unpack_limited(&pb__trace_config__descriptor, r->packed.data, r->packed.len,
			       MAX_CONFIG_BYTES, &m, &r->config_bytes);
	if (error == 0)
		r->config = (Pb__TraceConfig *)m;
	return error;
}

/* Creates the session, which takes the config out of the request. */
static int make_session(struct consumer_port *c, struct enable_request *request,
			struct passed_file file, struct err_text *e)
{
	const struct session_request r = {.owner = c->owner,
					  .uid = c->uid,
					  .config = request->config,
					  .config_bytes =
						  request->config_bytes + request->packed.len,
					  .packed = request->packed.data,
					  .packed_len = request->packed.len,
					  .file = file};
	int error = session_new(c->sessions, &r, e, &c->session);

	if (error == 0)
		request->config = NULL; /* the session owns it */
	return error;
}

static void begin_session(struct consumer_port *c, const struct ipc_call *call,
			  struct enable_request *request)
{
	struct err_text e;
	_cleanup_(passed_file_closep) struct passed_file file = passed_file_take(c->conn, &e);
	int r = -EBUSY;

	if (e.text[0] && request->config && request->config->write_into_file)
		r = -EINVAL;
	else if (c->sessions->is_stopping)
		err_set(&e, r, "%s", SERVICE_STOPPED);
	else if (c->session)
		err_set(&e, r, "this connection has a tracing session already");
	else if (!request->config)
		r = err_set(&e, -EINVAL, "EnableTracing without a trace_config");
	else
		r = make_session(c, request, passed_file_release(&file), &e);
	if (r < 0) {
		quota_log(c->sessions->quota, c->uid, LOG_LEVEL_INFO,
			  "a tracing session of uid %u is refused: %s", (unsigned)c->uid, e.text);
		reply_disabled(c, call, e.text);
		return;
	}
	producers_set_lockdown(c->sessions->producers, session_config(c->session)->lockdown_mode);
	park_enable(c, call);
	session_begin(c->session);
}

static int enable_tracing(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			  size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(enable_request_deinit) struct enable_request request = {0};
	int r = enable_request_decode(&request, args, len);

	if (r == -E2BIG) {
		c->sessions->quota->refused[QUOTA_CONFIG_BYTES]++;
		reply_disabled(c, call, "the config would take more than 8 MiB");
		return 0;
	}
	if (r < 0)
		return r;
	if (!request.attach_notification_only)
		begin_session(c, call, &request);
	else if (c->session && session_has_ended(c->session))
		reply_disabled(c, call, session_error(c->session));
	else if (c->session)
		park_enable(c, call);
	else
		reply_disabled(c, call,
			       "attach_notification_only: this connection has no tracing session");
	return 0;
}

/* ---- the session's life ---- */

static int start_tracing(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			 size_t len)
{
	struct consumer_port *c = endpoint;

	if (decode_nothing(args, len) < 0)
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

	if (decode_nothing(args, len) < 0)
		return -EBADMSG;
	ipc_reply_empty(c->conn, call);
	if (!c->session)
		return 0;
	session_set_end(c->session, "its consumer stopped it");
	session_disable(c->session, false);
	return 0;
}

/* Detaches the session and stops it, so that its file gets all data and the reason for the end. The
 * session frees itself when the file is complete. */
static void leave_file(struct consumer_port *c)
{
	struct session *s = c->session;

	tracing_ended(c, session_error(s));
	(void)consumer_port_detach_session(c, NULL); /* without a key it cannot fail */
	session_set_end(s, "its consumer went away");
	session_disable(s, false);
}

static void consumer_port_end_session(struct consumer_port *c)
{
	if (c->session && session_writes_file(c->session)) {
		leave_file(c);
		return;
	}
	reader_cancel(&c->reader);
	clone_give_up_file(c);
	session_free(TAKE_PTR(c->session));
}

static int free_buffers(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len)
{
	struct consumer_port *c = endpoint;

	if (decode_nothing(args, len) < 0)
		return -EBADMSG;
	ipc_reply_empty(c->conn, call);
	consumer_port_end_session(c);
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

static int flush(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
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

int consumer_port_detach_session(struct consumer_port *c, const char *key)
{
	int r = session_detach(c->session, key);

	if (r < 0)
		return r;
	reader_cancel(&c->reader);
	clone_give_up_file(c);
	session_reject_flushes(c->session, c);
	c->session = NULL;
	return 0;
}

/* ---- session_owner_ops ---- */

static void consumer_port_on_ended(void *ctx, const char *error)
{
	tracing_ended(ctx, error);
	clone_is_written(ctx);
}

static void on_all_started(void *ctx)
{
	struct consumer_port *c = ctx;

	observe_all_started(&c->observer);
}

static void on_instance_changed(void *ctx, const struct source_instance *i)
{
	struct consumer_port *c = ctx;

	observe_instance(&c->observer, i);
}

static void on_clone_due(void *ctx, const struct received_trigger *trigger)
{
	struct consumer_port *c = ctx;

	observe_clone_trigger(&c->observer, session_id(c->session), trigger);
}

static void on_abort(void *ctx, const char *reason)
{
	struct consumer_port *c = ctx;

	if (c->has_enable)
		reply_disabled(c, &c->enable, reason);
	c->has_enable = false;
	if (c->session)
		session_set_error(c->session, reason);
	consumer_port_end_session(c);
}

static struct session_owner owner_of(struct consumer_port *c)
{
	static const struct session_owner_ops ops = {
		.ended = consumer_port_on_ended,
		.all_started = on_all_started,
		.instance_changed = on_instance_changed,
		.clone_due = on_clone_due,
		.abort = on_abort,
	};

	return (struct session_owner){.ops = &ops, .ctx = c};
}

/* ---- the session's data ---- */

static int read_buffers(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len)
{
	struct consumer_port *c = endpoint;

	if (decode_nothing(args, len) < 0)
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

	if (decode_nothing(args, len) < 0)
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
	observe_begin(&c->observer, call, events, c->session);
	return 0;
}

/* ---- methods that are not supported, whose reply has an error text ---- */

static int refuse_with(struct consumer_port *c, const struct ipc_call *call, uint32_t success_field,
		       uint32_t text_field, const char *text)
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
	if (decode_nothing(args, len) < 0)
		return -EBADMSG;
	return refuse_with(endpoint, call, PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_SUCCESS,
			   PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_MSG,
			   "SaveTraceForBugreport is deprecated: use CloneSession");
}

/* ---- the port ---- */

static void consumer_port_close(void *endpoint)
{
	struct consumer_port *c = endpoint;

	clone_cancel(c);
	consumer_port_end_session(c);
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
	c->owner = owner_of(c);
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

static void on_drained(void *endpoint)
{
	struct consumer_port *c = endpoint;

	reader_on_drained(&c->reader);
}

static const struct ipc_method methods[] = {
	{"EnableTracing", enable_tracing},
	{"DisableTracing", disable_tracing},
	{"ReadBuffers", read_buffers},
	{"FreeBuffers", free_buffers},
	{"Flush", flush},
	{"StartTracing", start_tracing},
	{"ChangeTraceConfig", change_config_call},
	{"Detach", detach_call},
	{"Attach", attach_call},
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
	.on_drained = on_drained,
	.send_limit = CONSUMER_SEND_LIMIT,
	.hold_limit = CONSUMER_HOLD_LIMIT,
	.is_urgent = true,
	.connections = QUOTA_CONSUMERS,
};
