/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "procfs/process/process_names.h"
#include "procfs/process/task_names.h"
#include "base/event_loop/time_slice.h"

/*
 * A walk over every task of the machine, describing each, in turns. Tasks that come meanwhile may
 * be missed and tasks that go are left out: the kernel's events tell of both.
 */

/* Zero-initialise. */
struct process_scan {
	struct proc_list processes;
	struct proc_list threads; /* open: in the middle of a process */
	bool namespaced;
	struct task_names task_names; /* where the kernel has them */
	unsigned n_waiting; /* threads whose names are to be asked for; none between turns */
	struct task_name waiting[TASK_NAMES_MAX];
	int32_t processes_of[TASK_NAMES_MAX]; /* of those */
};

/* 0 or -errno. */
int process_scan_begin(struct process_scan *s, const struct process_names *n);
/* Goes on until the turn is over (true) or the walk is (false). At least one task a turn. */
bool process_scan_run(struct process_scan *s, struct process_names *n,
		      const struct time_slice *turn);
/* Also in the middle of a walk, and after its end. */
void process_scan_end(struct process_scan *s);
static inline bool process_scan_is_active(const struct process_scan *s)
{
	return proc_list_is_open(&s->processes);
}
