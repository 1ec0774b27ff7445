/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/ftrace_event.h"

/* Adds a row of ftrace_event. payload, value: see enum payload_kind; for PAYLOAD_RAW, value is the
 * address of the message's bytes, with the message's length before them. */
void rows_add_ftrace(struct import *im, struct machine *m, uint32_t cpu, int64_t ts, uint32_t kind,
		     uint32_t utid, enum payload_kind payload, uint64_t value);
/* Adds the row of an event. symbol_field: name of a field with the iid of a kernel symbol, or
 * NULL. */
void rows_add_event(struct import *im, struct machine *m, const struct ftrace_event *e,
		    const char *symbol_field);

/* Returns true for an event from before the time when the data of all CPUs begins. Such an event
 * only has a row of ftrace_event, and a full sched_switch has not even that. */
static inline bool rows_is_early(const struct machine *m, int64_t ts)
{
	return ts < m->first_data;
}
