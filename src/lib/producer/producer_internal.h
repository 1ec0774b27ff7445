/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/system/file_watch.h"
#include "client/transport/arbiter.h"
#include "lib/channel/channel.h"
#include "lib/data_source/source.h"
#include "lib/loop/loop.h"
#include "lib/producer/producer_options.h"

/*
 * For src/lib/producer only. producer.c has the connection, and calls service_commands.c, which
 * executes what the service sends during the connection, and never calls back.
 */

struct service_producer {
	struct service_producer_options o; /* the target's address and the name are owned */
	char place[128]; /* the target, for messages */
	struct loop_timer retry; /* armed while there is no connection */
	unsigned retry_ms;
	struct file_watch watch; /* of the socket's path; open only while there is no connection */
	struct loop_fd watched; /* its descriptor */
	struct loop_timer watch_pause; /* armed while the watch is not polled */
	/* of the connection: */
	struct channel *channel; /* owned; NULL: none */
	struct arbiter *arbiter; /* owned; NULL until the port is bound */
	struct source_host host;
	bool emulated; /* no shared memory: chunks are sent through the socket */
	int own_fd; /* owned: memory for the service; -1: none */
	bool has_own_memory; /* the service uses it */
	bool initialized; /* InitializeConnection was answered */
	bool connected; /* on_connected was called */
	uint32_t versions[SOURCES_MAX]; /* of the descriptors that the service has; 0: none */
	struct loop_task want_commit; /* commits after COMMIT_MS */
	struct loop_task must_commit; /* commits at once */
	struct loop_timer commit;
};

/* For the arbiter of a connection; its ctx is the producer. */
extern const struct arbiter_ops service_arbiter_ops;

/* Sets what host and the commits call. trouble: host.trouble. */
void service_host_init(struct service_producer *p,
		       void (*trouble)(struct source_host *h, const char *sentence));
/* Executes a command: a serialized GetAsyncCommandResponse. Ignores a malformed one. Returns 0, or
 * -errno if the service's shared memory cannot be used. */
int service_execute(struct service_producer *p, const void *response, size_t len);
