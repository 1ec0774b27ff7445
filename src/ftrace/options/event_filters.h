/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

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
