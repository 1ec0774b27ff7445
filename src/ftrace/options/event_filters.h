/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.syscall_events: adds raw_syscalls/sys_enter and sys_exit to the selection, with a
 * filter of the kernel's that lets only these calls through. Unknown names are reported with the
 * nearest one; where none is known, both events are dropped. 0 or -ENOMEM.
 */
int syscall_events_apply(struct event_selection *events, const struct setup *s);

/*
 * The filter for numbers, sorted and each once: "id == 0 || (id >= 3 && id <= 7)". Runs are what
 * lets any list of one architecture pass the kernel's limit of a page. For the caller to free;
 * NULL: memory is out.
 */
char *syscall_filter(const uint32_t *numbers, size_t n);

/*
 * What lets only some records of an event through, in the kernel: FtraceConfig.event_filters, and
 * the ids of syscall_events. Of several filters for one event a record has to pass each. An event
 * whose filter the kernel refuses is dropped from the selection and reported: it is not recorded
 * unfiltered.
 */

#define EVENT_FILTERS_MAX 1024u /* with more of them nothing is recorded */

/* Each of the config's filters, for those of the selected events that its request means. 0, or
 * -errno with a problem. */
int event_filters_apply(struct event_selection *events, const struct setup *s);

/* One filter for one selected event, on top of those that it has. 0; -ENOMEM; or another -errno:
 * refused and reported, and the event is dropped. */
int event_filter_add(struct event_selection *events, struct event_name *e, const char *filter,
		     const struct setup *s);
