/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/data_source.h>

/* The data source "track_event": its instances, its descriptor, and its handlers for fork(). */

/* Registers the data source with the current categories. Further calls have no effect. Returns 0 or
 * -errno. */
int track_event_init(void);
/* Records the categories (patterns, separated by commas) until a session takes over, at most ms
 * milliseconds. For the loop's thread. Returns as startup_begin(). */
int track_event_begin_startup(const char *categories, unsigned ms,
			      void (*trouble)(const char *sentence));

/* Call these around fork(), so that no lock is held in the child. The child reads its own identity,
 * and records nothing until sonda_init(). */
void track_event_before_fork(void);
void track_event_after_fork_in_parent(void);
void track_event_after_fork_in_child(void);
