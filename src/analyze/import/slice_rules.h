/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/event_rules.h"

/* What slices of system calls and markers share. */

/* Value of thread_info.in_write: a marker ended the slice of the sys_write that is still open. */
#define WRITE_CUT (UINT32_MAX - 1)

/* Ends the slice of the thread's open sys_write, if there is one. */
void slice_rules_cut_write(struct import *im, struct machine *m, int64_t ts, uint32_t utid);
