/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/category.h>

#include "lib/track_event/event_config.h"
#include "wire/pb_enc.h"

/* The categories of the process, and the instances that record them. Any thread. */

/* Called without a lock after a category was added or removed. NULL: no function is called. */
extern void (*_Atomic categories_on_change)(void);

/* Sets the bit of the instance in all categories that config enables, including those added later.
 * config is borrowed until categories_stop(). */
void categories_start(unsigned instance, const struct event_config *config);
void categories_stop(unsigned instance);
/* Returns true if the config enables all categories that the instance records. */
bool categories_covered(unsigned instance, const struct event_config *config);

/* Writes the fields of a TrackEventDescriptor: all categories except groups and dynamic ones. */
void categories_describe(struct pb_enc *e);

/* Call these around fork(). categories_stop_all() is for the child, and needs no lock. */
void categories_lock(void);
void categories_unlock(void);
void categories_stop_all(void);
