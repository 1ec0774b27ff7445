/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>

#include "base/system/file_watch.h"
#include "client/producer/instance_table.h"
#include "client/producer/producer_options.h"
#include "client/transport/arbiter.h"
#include "client/transport/connection.h"

/* Private to producer.c and producer_commands.c. */

struct producer {
	struct producer_options o; /* name and socket are owned; env has our arbiter */
	struct event *retry; /* owned; pending until BOUND: next attempt, or time limit */
	uint32_t retry_ms; /* the next wait */
	struct file_watch watch; /* of the socket's path; open only while WAITING */
	struct event *watched; /* owned: of the watch; NULL if it is not open */
	struct event *watch_pause; /* owned; pending while the watch is not polled */
	int reported_error; /* the last connection error that was reported */
	/* The connection: */
	struct connection *conn; /* owned; NULL: WAITING */
	struct arbiter *arbiter; /* owned; NULL until BOUND */
	struct event *commit; /* owned; with arbiter; pending while commits are due */
	struct relay_client *relay; /* owned; NULL: the service is on this machine */
	bool emulated; /* no shared memory: chunks are sent through the socket */
	struct instance_table *instances; /* owned; with arbiter */
	bool connected; /* on_connected was called */
};

/* Formats one sentence for on_error. */
void producer_report(struct producer *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The ctx of both is the producer. */
extern const struct arbiter_ops producer_arbiter_ops;
extern const struct instance_table_ops producer_ds_ops;
/* A timer: sends the commits that are due. */
void producer_on_commit_due(evutil_socket_t fd, short what, void *ctx);
/* Sends ActivateTriggers. Returns 0, -ENOTCONN, or as connection_call(). */
int producer_send_triggers(struct producer *p, const char *const *names, size_t n);
/* Carries out one command: a reply of GetAsyncCommand. Returns false if the connection cannot be
 * used any more. */
bool producer_run_command(struct producer *p, const struct connection_reply *reply);
