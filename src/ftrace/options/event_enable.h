/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/events/event_select.h"
#include "ftrace/events/event_table.h"
#include "ftrace/options/setup.h"
#include "ftrace/tracefs/instance.h"

/*
 * Detects cheaply whether the kernel's set of events may have changed: modules were loaded or
 * removed, or dynamic events (probes, synthetic and user events) were. A check lists /sys/module,
 * reads dynamic_events, and calls stat(2) for each dynamic event.
 *
 * Ignores the dynamic events of our own sessions, which matter to no other session.
 */
struct event_watch {
	const char *root; /* borrowed: of tracefs */
	const char *sys_root; /* borrowed */
	uint64_t seen; /* hash of the state at the latest check */
	bool again; /* report a change at the next check */
};

/* Records the current state. Call it before events are selected. */
void event_watch_begin(struct event_watch *w, const char *root, const char *sys_root);
/* Returns true if the state has changed since the last check, or if an event was removed and made
 * again. Returns false if dynamic_events cannot be read in time; the next check finds the
 * change. */
bool event_watch_changed(struct event_watch *w);

/* Makes the next check return true. */
void event_watch_force_change(struct event_watch *w);

/* Returns an id of the event's directory, which differs for another event and for the same event
 * if it was re-created; 0: none. (Kernels 6.6 and 6.7 may change it without cause.) */
uint64_t event_dir_id(const struct instance *instance, const char *group, const char *name);

/*
 * Selects, compiles and enables the events of a session. An event that fails is reported and
 * removed from the table.
 */

/* Adds the events that the config requests by name and tracefs has. Returns 0, -ENOMEM, or
 * -ECANCELED (base/event_loop/coroutine.h). */
int event_enable_select(struct event_selection *events, const struct setup *s);
/* Compiles each event. Changes options->compact if the kernel's events or filters require it.
 * Returns 0, -ENOMEM or -ECANCELED. */
int event_enable_compile(struct event_selection *events, const struct setup *s,
			 struct event_table_options *options, struct event_table *table);
/* Enables each compiled event in s->instance. Removes those that cannot be enabled from the table.
 * Returns 0 or -ECANCELED. */
int event_enable_all(struct event_selection *events, const struct setup *s,
		     struct event_table *table);
/* Disables the enabled events one by one. Disabling all at once, or removing the instance, takes
 * the kernel as long, but blocks all other users of tracefs meanwhile. */
void event_disable_all(const struct event_selection *events, const struct instance *i);
