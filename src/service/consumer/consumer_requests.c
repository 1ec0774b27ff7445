/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/consumer/consumer_port.h"
#include "service/ipc/request_decode.h"
#include "service/ipc/limits.h"
#include "service/session/sessions.h"
#include "service/session/session.h"
#include "wire/pb_mem.h"
#include "base/system/log.h"
#include "config/unpack.h"
#include "ipc/consumer_port.pb-c.h"

/*
 * Detach and Attach: a session outlives its consumer, until another consumer of the same user with
 * the same key takes it over.
 *
 *	consumer A --owns--> session --Detach(key)--> detached --Attach(key)--> owned by consumer B
 *
 * Only a detached session can be attached to, and a key has at least one byte: otherwise a second
 * connection of the same user could take a session away from its owner.
 */

static int decode_key(const uint8_t *args, size_t len, uint32_t field, char **ret)
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

int detach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(freep) char *key = NULL;
	int r = decode_key(args, len, PB_DETACH_REQUEST_KEY, &key);

	if (r < 0)
		return r;
	if (!c->session)
		return -ENOENT;
	r = consumer_port_detach_session(c, key);
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

int attach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct consumer_port *c = endpoint;
	_cleanup_(freep) char *key = NULL;
	struct session *s;
	int r = decode_key(args, len, PB_ATTACH_REQUEST_KEY, &key);

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
 * ChangeTraceConfig changes which producers a running session records. Only the filters by producer
 * name of the new config are applied, to the data sources that the session has. Running instances
 * are not stopped. A config with an invalid expression changes nothing.
 */

int change_config_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
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
