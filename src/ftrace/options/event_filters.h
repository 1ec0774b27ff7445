/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.syscall_events: adds raw_syscalls/sys_enter and sys_exit with a kernel filter for
 * these calls. Reports unknown names with the nearest known one. If no name is known, both events
 * are dropped. Returns 0 or -ENOMEM.
 */
int syscall_events_apply(struct event_selection *events, const struct setup *s);

/*
 * Returns the filter for sorted, unique numbers: "id == 0 || (id >= 3 && id <= 7)". Ranges keep
 * any list of one architecture below the kernel's limit of a page. The caller frees it. Returns
 * NULL if out of memory.
 */
char *syscall_filter(const uint32_t *numbers, size_t n);

/*
 * Kernel filters of events: FtraceConfig.event_filters, and the ids of syscall_events. Several
 * filters for one event are combined with &&. If the kernel refuses a filter, the event is dropped
 * and reported; it is never recorded unfiltered.
 */

#define EVENT_FILTERS_MAX 1024u /* nothing is recorded if the config has more */

/*
 * Adds the config's filters to the selected events that match. Returns 0, or -errno with a fatal
 * setup error.
 */
int event_filters_apply(struct event_selection *events, const struct setup *s);

/*
 * Adds a filter to one selected event. Returns 0, -ENOMEM, or the -errno of a refused filter; then
 * the event was reported and dropped.
 */
int event_filter_add(struct event_selection *events, struct event_name *e, const char *filter,
		     const struct setup *s);
