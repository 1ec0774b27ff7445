/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop/time_slice.h"
#include "procfs/process/process_tree.h"
#include "procfs/process/task_table.h"
#include "procfs/process/taskstats.h"

/*
 * Writes the rows of every existing task, in time slices. Tasks that start during the walk may be
 * missed; events report them. Tasks that started before the events began are found by a second
 * walk, which skips the processes that are written already (only_new).
 */

/* Zero-initialise. */
struct process_scan {
	struct pid_list processes;
	struct pid_list threads; /* open while the threads of a process are walked */
	bool namespaced;
	bool only_new;
	struct taskstats_socket taskstats; /* used if the kernel supports it */
	unsigned n_waiting; /* threads whose names are to be requested; 0 between time slices */
	struct taskstats_name waiting[TASKSTATS_MAX];
	int32_t processes_of[TASKSTATS_MAX]; /* the process of each thread in waiting */
};

/* Begins a walk. Returns 0 or -errno. */
int process_scan_begin(struct process_scan *s, const struct process_tree *t, bool only_new);
/* Runs until the time slice is over (returns true) or the walk is complete (returns false). It
 * serves at least one task. */
bool process_scan_run(struct process_scan *s, struct process_tree *t,
		      const struct time_slice *slice);
/* Ends the walk, complete or not; may be called again. */
void process_scan_end(struct process_scan *s);
static inline bool process_scan_is_active(const struct process_scan *s)
{
	return pid_list_is_open(&s->processes);
}
