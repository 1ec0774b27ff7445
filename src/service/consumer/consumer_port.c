/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most methods reply first and act then. So messages that the action itself sends, such as the
 * reply to EnableTracing, follow the reply of the method.
 */
#include "service/consumer/consumer_port.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/consumer/clone.h"
#include "service/consumer/consumer_session.h"
#include "service/consumer/query.h"
#include "service/ipc/limits.h"
#include "service/ipc/msgsock.h"
#include "service/ipc/request_decode.h"
#include "service/session/session.h"
#include "service/session/sessions.h"
#include "wire/frame.h"
#include "wire/pb_mem.h"

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

static void on_drained(void *endpoint)
{
	struct consumer_port *c = endpoint;

	reader_on_drained(&c->reader);
}

static const struct ipc_method methods[] = {
	{"EnableTracing", consumer_session_enable},
	{"DisableTracing", disable_tracing},
	{"ReadBuffers", read_buffers},
	{"FreeBuffers", free_buffers},
	{"Flush", flush},
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
	.on_drained = on_drained,
	.send_limit = CONSUMER_SEND_LIMIT,
	.hold_limit = CONSUMER_HOLD_LIMIT,
	.is_urgent = true,
	.connections = QUOTA_CONSUMERS,
};
