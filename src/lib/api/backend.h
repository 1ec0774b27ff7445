/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/backend.h>

#include <stdbool.h>

#include "lib/data_source/source.h"
#include "lib/library_loop.h"

/*
 * The services that this process is a producer for: the system's service (init.c), and those that
 * the program adds. Unless stated otherwise, functions are for the loop's thread.
 */

struct service_producer;
struct trigger;

struct sonda_backend {
	struct io_task task; /* begins or ends the connection */
	int result; /* of the task */
	struct sonda_backend_options o; /* texts are owned */
	struct service_producer *producer; /* owned; NULL: not begun, or ended */
	struct source_host host; /* of the instances of the connection */
	struct trigger *waiting; /* owned: to be sent when it is connected */
	struct sonda_backend *next; /* in the list of those with a producer */
	bool connected; /* guarded by the lock of backend.c */
};

/* Call once, before all other functions. Any thread. */
void backends_init(void);

/* Copies o with its texts into b, which is zeroed. Returns 0 or -ENOMEM. Any thread. */
int backend_set_up(struct sonda_backend *b, const struct sonda_backend_options *o);
void backend_deinit(struct sonda_backend *b);
/* Begins to connect. Returns 0 or -ENOMEM. */
int backend_begin(struct sonda_backend *b);
/* Waits until b is connected. Returns 0 or -ETIMEDOUT. Any thread. */
int backend_wait(struct sonda_backend *b, int timeout_ms);

/* Ends all connections. */
void backends_end(void);
/* Call in a child after fork(). Drops all connections without freeing their memory. */
void backends_after_fork_in_child(void);
void backends_sources_changed(void);
void backends_source_removed(unsigned index, const char *name);
