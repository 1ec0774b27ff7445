/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/data_source.h>

/* The data source "track_event": its instances, its descriptor, and its part of fork(). */

extern struct sonda_data_source track_event_source;

/* Registers the data source with the categories that are known. Further calls do nothing. Returns 0
 * or a negative errno. */
int track_event_init(void);
/* Records the categories (patterns with commas between them) until a session comes, at most ms.
 * On the loop's thread. Returns 0, or as startup_begin(). */
int track_event_begin_startup(const char *categories, unsigned ms,
			      void (*trouble)(const char *sentence));

/* Around fork(): so that no lock is held in the child. The child records nothing until the library
 * is started there, and has an identity of its own. */
void track_event_before_fork(void);
void track_event_after_fork_in_parent(void);
void track_event_after_fork_in_child(void);
