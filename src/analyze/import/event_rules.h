/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/ftrace_rows.h"

/* Rules that make further rows for an event, in addition to its row of ftrace_event. */
struct event_rule {
	uint32_t number;
	void (*fn)(struct import *im, struct machine *m, const struct ftrace_event *e);
	const char *symbol; /* name of a field with the iid of a kernel symbol; NULL: none */
};

/* Each table ends with a rule of number 0. */
extern const struct event_rule task_rules[];
extern const struct event_rule slice_rules[];
extern const struct event_rule print_rules[];
extern const struct event_rule thread_slice_rules[];
extern const struct event_rule device_slice_rules[];
extern const struct event_rule counter_rules[];
extern const struct event_rule memory_rules[];
extern const struct event_rule storage_rules[];
extern const struct event_rule gpu_rules[];

/* Makes the rows of one FtraceEvent: its row of ftrace_event, and those of its rule. */
void import_ftrace_event(struct import *im, struct machine *m, uint32_t cpu,
			 const struct queued_event *e);

/* A value of thread_info.in_write: the sys_write is still open, but a marker has ended its
 * slice. */
#define WRITE_CUT (UINT32_MAX - 1)

/* Ends the slice of the thread's open sys_write, if there is one. */
void slice_rules_cut_write(struct import *im, struct machine *m, int64_t ts, uint32_t utid);
