/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data_source/source.h"

/*
 * Events from before a session: an instance of a data source that records into private memory.
 * The first session that may have it takes it over: the instance becomes the session's, and the
 * service gets what was recorded. Without one it ends after a time, and what was recorded is
 * dropped and counted.
 *
 *	startup_begin --> records --setup, start of a session--> the session's instance
 *	                     |  full: drops, counts
 *	                     +--- time is over, sonda_shutdown() --> gone, counted
 *
 * One at a time; all on the loop's thread.
 */

struct startup_options {
	const char *source; /* name */
	const void *config; /* DataSourceConfig, serialized; borrowed */
	size_t config_len;
	unsigned ms; /* how long to wait for a session */
	/* Returns true if the session with this object (on_setup) has all that the instance
	 * records. */
	bool (*may_take_over)(unsigned instance, const void *object);
	/* One sentence for the user, when it ends without a session. */
	void (*trouble)(const char *sentence);
};

/* Returns 0, -ENOENT: there is no such source; -EBUSY, -ENOMEM, or the error of on_setup. */
int startup_begin(const struct startup_options *o);
/* Ends it, if no session has it. */
void startup_end(void);

/* In a child after fork(). */
void startup_forget(void);
