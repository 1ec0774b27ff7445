/* SPDX-License-Identifier: Apache-2.0 */
#include "service/consumer/consumer_session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "service/consumer/clone.h"
#include "service/ipc/limits.h"
#include "service/ipc/request_decode.h"
#include "service/output/passed_file.h"
#include "service/session/session.h"
#include "service/session/sessions.h"
#include "wire/pb_enc.h"

/* ---- EnableTracing ---- */

static void reply_tracing_disabled(struct consumer_port *c, const struct ipc_call *call,
				   const char *error)
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
static void keep_enable_call(struct consumer_port *c, const struct ipc_call *call)
{
	if (c->has_enable)
		ipc_reject(c->conn, &c->enable);
	c->enable = *call;
	c->has_enable = true;
}

static void answer_enable_call(struct consumer_port *c, const char *error)
{
	if (!c->has_enable)
		return;
	c->has_enable = false;
	observer_send(&c->observer); /* events that caused it are sent first */
	reply_tracing_disabled(c, &c->enable, error);
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
static int enable_tracing_decode(struct enable_request *r, const uint8_t *args, size_t len)
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

/* Creates the session, which owns the config of the request on success, and the file in any case.
 * Returns 0, or -errno and sets e. */
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
	_cleanup_(passed_file_closep) struct passed_file file = passed_file_adopt(c->conn, &e);
	int r = -EBUSY;

	if (e.text[0] && request->config && request->config->write_into_file)
		r = -EINVAL;
	else if (c->sessions->is_stopping)
		err_set(&e, r, "%s", SERVICE_STOPPED);
	else if (c->session)
		err_set(&e, r, "this connection already has a tracing session");
	else if (!request->config)
		r = err_set(&e, -EINVAL, "EnableTracing has no trace_config");
	else
		r = make_session(c, request, passed_file_release(&file), &e);
	if (r < 0) {
		quota_log(c->sessions->quota, c->uid, LOG_LEVEL_INFO,
			  "a tracing session of uid %u is refused: %s", (unsigned)c->uid, e.text);
		reply_tracing_disabled(c, call, e.text);
		return;
	}
	producers_set_lockdown(c->sessions->producers, session_config(c->session)->lockdown_mode);
	keep_enable_call(c, call);
	session_setup_and_start(c->session);
}

int consumer_session_enable(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			    size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(enable_request_deinit) struct enable_request request = {0};
	int r = enable_tracing_decode(&request, args, len);

	if (r == -E2BIG) {
		c->sessions->quota->refused[QUOTA_CONFIG_BYTES]++;
		reply_tracing_disabled(c, call, "the config would exceed 8 MiB");
		return 0;
	}
	if (r < 0)
		return r;
	if (!request.attach_notification_only)
		begin_session(c, call, &request);
	else if (c->session && session_has_ended(c->session))
		reply_tracing_disabled(c, call, session_error(c->session));
	else if (c->session)
		keep_enable_call(c, call);
	else
		reply_tracing_disabled(
			c, call,
			"attach_notification_only: this connection has no tracing session");
	return 0;
}

/* ---- the end ---- */

/* Detaches the session, which continues without a consumer. On success, rejects the consumer's
 * pending ReadBuffers, CloneSession and Flush. Returns as session_detach(). */
static int consumer_session_detach(struct consumer_port *c, const char *key)
{
	int r = session_detach(c->session, key);

	if (r < 0)
		return r;
	reader_cancel(&c->reader);
	clone_reject_waiting_call(c);
	session_reject_flushes(c->session, c);
	c->session = NULL;
	return 0;
}

/* Detaches the session and stops it, so that its file gets all data and the reason for the end. The
 * session frees itself when the file is complete. */
static void detach_and_stop(struct consumer_port *c)
{
	struct session *s = c->session;

	answer_enable_call(c, session_error(s));
	(void)consumer_session_detach(c, NULL); /* without a key a detach cannot fail */
	session_set_end_reason(s, "the consumer disconnected");
	session_disable(s, false);
}

void consumer_session_end(struct consumer_port *c)
{
	if (c->session && session_writes_file(c->session)) {
		detach_and_stop(c);
		return;
	}
	reader_cancel(&c->reader);
	clone_reject_waiting_call(c);
	session_free(TAKE_PTR(c->session));
}

/* ---- callbacks of the session ---- */

static void on_ended(void *ctx, const char *error)
{
	answer_enable_call(ctx, error);
	clone_on_file_written(ctx);
}

static void on_all_started(void *ctx)
{
	struct consumer_port *c = ctx;

	observer_add_all_started(&c->observer);
}

static void on_instance_changed(void *ctx, const struct source_instance *i)
{
	struct consumer_port *c = ctx;

	observer_add_instance(&c->observer, i);
}

static void on_clone_due(void *ctx, const struct received_trigger *trigger)
{
	struct consumer_port *c = ctx;

	observer_add_clone_trigger(&c->observer, session_id(c->session), trigger);
}

static void on_abort(void *ctx, const char *reason)
{
	struct consumer_port *c = ctx;

	if (c->has_enable)
		reply_tracing_disabled(c, &c->enable, reason);
	c->has_enable = false;
	if (c->session)
		session_set_error(c->session, reason);
	consumer_session_end(c);
}

struct session_owner consumer_session_owner(struct consumer_port *c)
{
	static const struct session_owner_ops ops = {
		.ended = on_ended,
		.all_started = on_all_started,
		.instance_changed = on_instance_changed,
		.clone_due = on_clone_due,
		.abort = on_abort,
	};

	return (struct session_owner){.ops = &ops, .ctx = c};
}

/* ---- Detach, Attach, ChangeTraceConfig ---- */

/*
 * Detach and Attach: a session outlives its consumer, until another consumer of the same user with
 * the same key takes it over.
 *
 *	consumer A --owns--> session --Detach(key)--> detached --Attach(key)--> owned by consumer B
 *
 * Only a detached session can be attached to, and a key has at least one byte: otherwise a second
 * connection of the same user could take a session away from its owner.
 */

/* Sets *ret to the key in this field of a request; the caller frees it. Returns 0, -EBADMSG,
 * -EINVAL if there is no key, or an error of decode_string(). */
static int decode_session_key(const uint8_t *args, size_t len, uint32_t field, char **ret)
{
	_cleanup_(freep) char *key = NULL;
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	pb_dec_init(&d, args, len);
	while (r == 0 && pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_BYTES(field))
			r = decode_string(&f, MAX_NAME_BYTES, &key);
	if (r < 0)
		return r;
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	if (!key || !key[0])
		return -EINVAL;
	*ret = TAKE_PTR(key);
	return 0;
}

int consumer_session_detach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				 size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(freep) char *key = NULL;
	int r = decode_session_key(args, len, PB_DETACH_REQUEST_KEY, &key);

	if (r < 0)
		return r;
	if (!c->session)
		return -ENOENT;
	r = consumer_session_detach(c, key);
	if (r < 0)
		return r;
	ipc_reply_empty(c->conn, call);
	return 0;
}

static int reply_config(const struct consumer_port *c, const struct ipc_call *call,
			const Pb__TraceConfig *config)
{
	size_t size = pb__trace_config__get_packed_size(config);
	_cleanup_(freep) uint8_t *packed = malloc(size ? size : 1);
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!packed || pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb__trace_config__pack(config, packed);
	pb_enc_bytes(&m.enc, PB_ATTACH_RESPONSE_TRACE_CONFIG, packed, size);
	if (m.failed)
		return -ENOMEM;
	return ipc_reply(c->conn, call, false, m.buf, pb_mem_len(&m), -1);
}

int consumer_session_attach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				 size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(freep) char *key = NULL;
	struct session *s;
	int r = decode_session_key(args, len, PB_ATTACH_REQUEST_KEY, &key);

	if (r < 0)
		return r;
	if (c->session)
		return -EBUSY;
	s = session_find_detached(c->sessions, c->uid, key);
	if (!s)
		return -ENOENT;
	r = reply_config(c, call, session_config(s));
	if (r < 0)
		return r;
	session_attach(s, c->owner);
	c->session = s;
	return 0;
}

/*
 * ChangeTraceConfig changes which producers a running session records. Of the new config, only the
 * producer name filters are applied, to the existing data sources of the session. Running instances
 * are not stopped. A config with an invalid expression changes nothing.
 */

int consumer_session_change_config(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				   size_t len)
{
	struct consumer_port *c = endpoint;
	struct session *s = c->session;
	Pb__ChangeTraceConfigRequest *request;
	struct err_text e = {""};
	ProtobufCMessage *m;
	size_t bytes;
	int r = unpack_limited(&pb__change_trace_config_request__descriptor, args, len,
			       MAX_CONFIG_BYTES, &m, &bytes);

	if (r < 0)
		return r;
	request = (Pb__ChangeTraceConfigRequest *)m;
	ipc_reply_empty(c->conn, call);
	if (s && request->trace_config &&
	    (session_state(s) == SESSION_CONFIGURED || session_state(s) == SESSION_STARTED) &&
	    session_change_producers(s, request->trace_config, &e) < 0)
		quota_log(c->sessions->quota, c->uid, LOG_LEVEL_WARN,
			  "session %llu: ChangeTraceConfig changes nothing: %s",
			  (unsigned long long)session_id(s), e.text);
	protobuf_c_message_free_unpacked(m, NULL);
	return 0;
}
