/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/event_rules.h"

/* What the files that make slices of kernel events share. */

/* Value of thread_info.in_write: a marker ended the slice of the sys_write that is still open. */
#define WRITE_CUT (UINT32_MAX - 1)

/* Returns the track of a thread's kernel events. */
uint32_t slice_rules_thread_track(struct import *im, struct machine *m, uint32_t utid);
/* Ends the slice of the thread's open sys_write, if there is one. */
void slice_rules_cut_write(struct import *im, struct machine *m, int64_t ts, uint32_t utid);

/* print_rule.c: a line of trace_marker. */
void print_event(struct import *im, struct machine *m, const struct ftrace_event *e);
