/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/events/event_table.h"
#include "ftrace/options/setup.h"

/*
 * From the events that were selected to those that are on: formats into rows, then the kernel's
 * switches. An event that cannot be had is reported, and loses its row.
 */

/* Adds what the config asks for by name, and tracefs has. 0 or -ENOMEM. */
int session_events_select(struct event_selection *events, const struct setup *s);
/* Adds a row for each event. 0, -ENOMEM, or -ECANCELED (base/event_loop/coroutine.h). */
int session_events_compile(struct event_selection *events, const struct setup *s,
			   struct event_table_options *options, struct event_table *table);
/* Switches on, in s->instance, each event that has a row. Those that cannot be had lose theirs. 0 or
 * -ECANCELED. */
int session_events_enable(struct event_selection *events, const struct setup *s,
			  struct event_table *table);
/* Switches those off that are on, each by itself: the kernel takes as long for all of them at once,
 * as when their instance is removed, and lets nobody use tracefs meanwhile. */
void session_events_quiet(const struct event_selection *events, const struct instance *i);

/* What is written to trace_marker and trace_marker_raw; what the kernel says by trace_printk(). */
bool session_event_is_marker(const struct event_name *e);
bool session_event_is_printk(const struct event_name *e);
