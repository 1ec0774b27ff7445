/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/* FtraceConfig.syscall_events: adds raw_syscalls/sys_enter and sys_exit with a kernel filter for
 * these calls. Reports unknown names with the nearest known one. If no name is known, both events
 * are dropped. Returns 0 or -ENOMEM. */
int syscall_events_apply(struct event_selection *events, const struct setup *s);

/*
 * Kernel filters of events: FtraceConfig.event_filters, and the ids of syscall_events. Several
 * filters for one event are combined with &&. If the kernel refuses a filter, the event is dropped
 * and reported; it is never recorded unfiltered.
 */

#define EVENT_FILTERS_MAX 1024u /* nothing is recorded if the config has more */

/* Adds a filter to one selected event. Returns 0, -ENOMEM, or the -errno of a refused filter; then
 * the event was reported and dropped. */
int event_filter_add(struct event_selection *events, struct event_name *e, const char *filter,
		     const struct setup *s);

/* Applies the event filters of the config to the selected events. Returns 0, -E2BIG with a fatal
 * setup error (too many filters), -ENOMEM or -ECANCELED. */
int event_filters_apply(struct event_selection *events, const struct setup *s);
