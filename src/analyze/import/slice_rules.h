/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/event_rules.h"

/* What files of kernel events that make slices share. */

/* thread_info.in_write of a call whose slice a marker ended. */
#define WRITE_CUT (UINT32_MAX - 1)

uint32_t slice_rules_thread_track(struct import *im, struct machine *m, uint32_t utid);
void slice_rules_cut_write(struct import *im, struct machine *m, int64_t ts, uint32_t utid);

/* print_rule.c: a line of trace_marker. */
void print_event(struct import *im, struct machine *m, const struct ftrace_event *e);
