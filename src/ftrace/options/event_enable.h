/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/events/event_select.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/events/event_table.h"
#include "ftrace/options/setup.h"

/*
 * Tells cheaply whether the kernel's events may be others than before: modules came and went, or
 * dynamic events did (probes, synthetic and user events). It takes one listing of /sys/module, one
 * read of dynamic_events, and a stat(2) for each dynamic event that is selected.
 *
 * What sessions of ours make for themselves is left out: it means nothing to other sessions.
 */
struct event_watch {
	const char *root; /* borrowed: of tracefs */
	const char *sys_root; /* borrowed */
	uint64_t seen;
	bool again; /* what was seen has not been dealt with */
};

/* Remembers how it is now: before the events are selected. */
void event_watch_begin(struct event_watch *w, const char *root, const char *sys_root);
/* Has something changed since it was asked last? instance: where events are on, in the folders that
 * they know (event_name.folder). */
bool event_watch_changed(struct event_watch *w, const struct instance *instance,
			 const struct event_selection *events);

/* It says yes the next time, whatever happens until then. */
void event_watch_again(struct event_watch *w);

/*
 * Which folder an event has now: a number that another event, or the same one made anew, does not
 * have. 0: none. (Kernels 6.6 and 6.7 may change it without a reason.)
 */
uint64_t event_folder_id(const struct instance *instance, const char *group, const char *name);

/*
 * From the events that were selected to those that are on: formats into rows, then the kernel's
 * switches. An event that cannot be had is reported, and loses its row.
 */

/* Adds what the config asks for by name, and tracefs has. 0 or -ENOMEM. */
int event_enable_select(struct event_selection *events, const struct setup *s);
/* Adds a row for each event. 0, -ENOMEM, or -ECANCELED (base/event_loop/coroutine.h). */
int event_enable_compile(struct event_selection *events, const struct setup *s,
			 struct event_table_options *options, struct event_table *table);
/* Switches on, in s->instance, each event that has a row. Those that cannot be had lose theirs. 0 or
 * -ECANCELED. */
int event_enable_all(struct event_selection *events, const struct setup *s,
		     struct event_table *table);
/* Switches those off that are on, each by itself: the kernel takes as long for all of them at once,
 * as when their instance is removed, and lets nobody use tracefs meanwhile. */
void event_disable_all(const struct event_selection *events, const struct instance *i);

/* What is written to trace_marker and trace_marker_raw; what the kernel says by trace_printk(). */
bool event_is_marker(const struct event_name *e);
bool event_is_printk(const struct event_name *e);
