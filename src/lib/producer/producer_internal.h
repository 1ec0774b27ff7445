/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/system/file_watch.h"
#include "client/transport/arbiter.h"
#include "lib/channel/channel.h"
#include "lib/data_source/source.h"
#include "lib/loop/loop.h"
#include "lib/producer/producer_options.h"

/* For src/lib/producer only. */

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

void service_producer_trouble(struct service_producer *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends the connection and its instances, and connects again later. */
void service_producer_give_up(struct service_producer *p);

/* service_commands.c */
extern const struct arbiter_ops service_arbiter_ops;
void service_host_init(struct service_producer *p);
void service_on_command(void *ctx, const struct channel_reply *reply);
