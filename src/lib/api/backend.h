/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/backend.h>

#include <stdbool.h>

#include "lib/loop/loop.h"

/*
 * The services that this process is a producer of: the system's, which init.c has, and those that
 * the program adds. Unless stated otherwise, functions are for the loop's thread.
 */

struct service_producer;
struct trigger;

struct sonda_backend {
	struct loop_task task; /* its begin or end */
	int result; /* of the task */
	struct sonda_backend_options o; /* texts are owned */
	struct service_producer *producer; /* owned; NULL: not begun, or ended */
	struct trigger *waiting; /* owned: to be sent when it is connected */
	struct sonda_backend *next; /* all with a producer */
	bool connected; /* with a lock */
};

/* Once, before anything else. Any thread. */
void backends_init(void);

/* Copies the texts of o; b was zeroed when it was made. Returns 0 or -ENOMEM. Any thread. */
int backend_set_up(struct sonda_backend *b, const struct sonda_backend_options *o);
void backend_deinit(struct sonda_backend *b);
/* Begins to connect. Returns 0 or -ENOMEM. */
int backend_begin(struct sonda_backend *b);
/* Any thread. Returns 0 or -ETIMEDOUT. */
int backend_wait(struct sonda_backend *b, int timeout_ms);

/* Ends all connections. */
void backends_end(void);
/* In a child after fork(). */
void backends_forget(void);
void backends_sources_changed(void);
void backends_source_removed(unsigned index, const char *name);
