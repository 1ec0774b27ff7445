/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "service/ipc/ipc_host.h"
#include "service/consumer/observe.h"
#include "service/consumer/reader.h"

struct service;
struct session;

/*
 * One connected consumer, and the session that it owns, if any: it ends with the connection, unless
 * it was detached before.
 */
struct consumer_port {
	struct service *service; /* borrowed: it outlives us */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	uid_t uid; /* of the connection */
	struct pending_clone *clone; /* owned by its source; NULL: none is on its way to us */
	struct ipc_call clone_call; /* CloneSession: answered when the session's file is written */
	bool has_clone_call;
	struct session *session; /* owned; NULL before EnableTracing and after FreeBuffers */
	struct ipc_call enable; /* EnableTracing: answered when tracing has ended */
	bool has_enable;
	struct observer observer;
	struct reader reader;
};

extern const struct ipc_service consumer_port_service;

/* The consumer's session is DISABLED now; error NULL: as it should. */
void consumer_port_tracing_ended(struct consumer_port *c, const char *error);

/* The consumer's session is ended, for this reason. */
void consumer_port_abort(struct consumer_port *c, const char *reason);
/* The descriptor that the consumer passed, now the caller's, if it is a file for a trace
 * (passed_file.h); else -1. *e says why it is not, and is empty where none was passed. */
int consumer_port_take_file(struct consumer_port *c, struct err_text *e);
/* The session goes on without this consumer: what it waits for is rejected. */
void consumer_port_let_go(struct consumer_port *c);

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
