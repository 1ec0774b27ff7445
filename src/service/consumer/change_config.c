/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChangeTraceConfig: which producers a running session records. Of the new config the filters by
 * producer name are taken, for the data sources that the session has; nothing is stopped, and
 * nothing else changes. A config with an expression that cannot be used changes nothing at all.
 */
#include <errno.h>

#include "base/system/log.h"
#include "config/unpack.h"
#include "ipc/consumer_port.pb-c.h"
#include "service/consumer/consumer_port.h"
#include "service/ipc/limits.h"
#include "service/session/sessions.h"
#include "service/session/session.h"

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
