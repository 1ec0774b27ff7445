/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "service/ipc/ipc_host.h"
#include "service/consumer/consumer_streams.h"
#include "service/session/session.h"

struct pending_clone;
struct sessions;

/*
 * One connected consumer, and the session that it owns, if any: it ends with the connection, unless
 * it was detached before.
 */
struct consumer_port {
	struct sessions *sessions; /* borrowed: it outlives us */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	uid_t uid; /* of the connection */
	struct pending_clone *clone; /* owned; NULL: no CloneSession is in progress */
	struct ipc_call clone_call; /* CloneSession: answered when the session's file is written */
	bool has_clone_call;
	struct session *session; /* owned; NULL before EnableTracing and after FreeBuffers */
	struct ipc_call enable; /* EnableTracing: answered when tracing has ended */
	bool has_enable;
	struct observer observer;
	struct reader reader;
};

extern const struct ipc_service consumer_port_service;

/* The descriptor that the consumer passed, now the caller's, if it is a file for a trace
 * (passed_file.h); else -1. *e says why it is not, and is empty where none was passed. */
int consumer_port_take_file(struct consumer_port *c, struct err_text *e);
/* The consumer as the owner of its session. */
struct session_owner consumer_port_owner(struct consumer_port *c);
/* Detaches the session, which goes on without this consumer; the consumer's pending calls are
 * rejected. Returns as session_detach(). */
int consumer_port_detach_session(struct consumer_port *c, const char *key);

/* ---- detach.c ---- */

int detach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);
int attach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);

/* ---- change_config.c ---- */

int change_config_call(void *endpoint, const struct ipc_call *call, const uint8_t *args,
		       size_t len);

/* ---- query.c ---- */

int query_service_state(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len);
int query_capabilities(void *endpoint, const struct ipc_call *call, const uint8_t *args,
		       size_t len);
