/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procfs/process/process_counters.h"
#include "procfs/process/process_names.h"
#include "procfs/process/process_queue.h"
#include "procfs/process/process_table.h"
#include "procfs/process/process_usage.h"
#include "base/event_loop/time_slice.h"

/*
 * Passes over all processes, in turns: writes the counters of each that have changed, and puts
 * those that have no name in the trace yet into the queue, threads too where their time is read. A
 * process that has ended since the pass before is forgotten: another one with its number begins
 * anew.
 */

struct process_poll_options {
	struct process_counters_options counters;
	/* In every so manieth pass all are written, changed or not. 1: in each. */
	uint32_t full_every;
};

/* Where a pass is: first all tasks, then those that it has not met. */
enum process_poll_at { POLL_IDLE, POLL_TASKS, POLL_GONE_PROCESSES, POLL_GONE_THREADS };

/* options, and heard before each pass, are set by the owner; the rest starts at zero. */
struct process_poll {
	struct process_poll_options options;
	bool heard; /* somebody tells of all tasks that begin, so who has which number is known */
	struct process_names *names; /* borrowed during a pass */
	enum process_poll_at at;
	struct proc_list processes; /* open: in the middle of the tasks */
	struct process_table table;
	struct process_usage usage; /* off unless the owner has it initialised */
	uint32_t pass;
};

void process_poll_deinit(struct process_poll *p);
/* 0 or -errno. */
int process_poll_begin(struct process_poll *p, struct process_names *n);
/* Goes on until the turn is over (true) or the pass is (false). At least one task a turn. */
bool process_poll_run(struct process_poll *p, struct process_names *n, struct process_queue *q,
		      const struct time_slice *turn);
/* In the middle of a pass: it goes no further. What it has of each process is still known. */
void process_poll_end(struct process_poll *p);
/* Forgets what was written. */
void process_poll_clear(struct process_poll *p);
static inline bool process_poll_is_active(const struct process_poll *p)
{
	return p->at != POLL_IDLE;
}
