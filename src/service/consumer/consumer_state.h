/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "service/consumer/observer.h"
#include "service/consumer/reader.h"
#include "service/ipc/ipc_host.h"
#include "service/session/session.h"

struct pending_clone;
struct sessions;

/* One connected consumer, and the session that it owns, if any. The session ends with the
 * connection, unless it was detached before. */
struct consumer_port {
	struct sessions *sessions; /* borrowed: it outlives us */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	uid_t uid; /* user of the connection */
	struct session_owner owner; /* this consumer, as the owner of its session */
	struct pending_clone *clone; /* owned; NULL: no CloneSession is in progress */
	struct ipc_call clone_call; /* CloneSession: answered when the session's file is written */
	bool has_clone_call;
	struct session *session; /* owned; NULL before EnableTracing and after FreeBuffers */
	struct ipc_call enable; /* EnableTracing: answered when tracing has ended */
	bool has_enable;
	struct observer observer;
	struct reader reader;
};
