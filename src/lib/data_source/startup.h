/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data_source/source.h"

/*
 * Startup tracing: an instance of a data source that records into private memory before a session
 * exists. The first matching session takes it over: the instance becomes the session's, and its
 * service gets the recorded packets. Without a session, the instance ends after a timeout, and its
 * packets are dropped and counted.
 *
 *	startup_begin --> records --setup, start of a session--> the session's instance
 *	                     |  memory full: drops and counts packets
 *	                     +--- timeout, sonda_shutdown() --> freed, packets counted
 *
 * There is at most one such instance. All functions are for the loop's thread.
 */

struct startup_options {
	const char *source; /* name */
	const void *config; /* DataSourceConfig, serialized; borrowed */
	size_t config_len;
	unsigned ms; /* how long to wait for a session */
	/* Returns true if the session with this object (of on_setup) selects all that the instance
	 * records. */
	bool (*may_take_over)(unsigned instance, const void *object);
	/* Called with a sentence for the user when the instance ends without a session. */
	void (*trouble)(const char *sentence);
};

/* Begins to record. Returns 0, -ENOENT (no such source), -EBUSY (an instance exists) or -ENOMEM
 * (including a failed set-up of the instance). */
int startup_begin(const struct startup_options *o);
/* Ends the instance, unless a session has taken it over. */
void startup_end(void);

/* Call in a child after fork(). Drops the instance, and replaces its memory. */
void startup_after_fork_in_child(void);
