/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The kernel's names of the events that FtraceEvent has a field for, by field number. */

struct event_name {
	const char *group; /* tracepoint group: "sched" */
	const char *name; /* "sched_switch" */
};

/* NULL for a number without an event. Static memory. */
const struct event_name *event_name_of(uint32_t field);

/* One past the largest number with an event. */
uint32_t event_names_end(void);
