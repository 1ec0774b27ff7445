/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop/time_slice.h"
#include "procfs/process/process_tracks.h"
#include "procfs/process/process_tree.h"
#include "procfs/process/task_table.h"

/*
 * Polls the counters of all processes, in time slices. A pass writes all counters, or only those
 * that have changed (see full_every), and queues processes that are not in the trace yet; threads
 * too if their CPU time is read. It drops processes that have exited since the last pass.
 *
 * Format and sources: protos/trace/ps/process_stats.proto;
 * /proc/PID/{status,oom_score_adj,smaps_rollup,stat,dmabuf_rss}, and those of process_tracks.h.
 */

struct process_poll_options {
	bool runtime;
	bool smaps_rollup; /* expensive: the kernel walks the whole memory of the process */
	bool dmabuf_rss;
	/* Every n-th pass writes all counters, changed or not; 1: every pass. */
	uint32_t full_every;
};

/* The state of a pass: first all tasks, then the exited ones. */
enum process_poll_at { POLL_IDLE, POLL_TASKS, POLL_EXITED_PROCESSES, POLL_EXITED_THREADS };

struct polled;

/* The owner sets options, and before each pass knows_starts and reported_until; the rest is
 * zero-initialised. */
struct process_poll {
	struct process_poll_options options;
	/* a publisher reports the start of all tasks, so a reused id is detected */
	bool knows_starts;
	uint64_t reported_until; /* CLOCK_BOOTTIME: all earlier starts have been reported */
	struct process_tree *tree; /* borrowed during a pass */
	enum process_poll_at at;
	struct pid_list processes; /* open while the tasks are walked */
	struct polled *by_pid; /* owned, a hash table: what is kept of each process */
	struct polled *next; /* in by_pid: the next one to be checked for its exit */
	struct process_tracks tracks; /* disabled unless the owner has initialised it */
	uint32_t pass; /* number of the pass that runs, or ran last */
};

/* Begins a pass, which queues new processes in t. Returns 0 or -errno. */
int process_poll_begin(struct process_poll *p, struct process_tree *t);
/* Runs until the time slice is over (returns true) or the pass is complete (returns false). It
 * serves at least one task. */
bool process_poll_run(struct process_poll *p, const struct time_slice *slice);
static inline bool process_poll_is_active(const struct process_poll *p)
{
	return p->at != POLL_IDLE;
}
/* Ends a pass before it is complete. The state of the processes is kept. */
void process_poll_end(struct process_poll *p);
/* Marks all counters and tracks as unwritten: the next pass writes them all. */
void process_poll_clear(struct process_poll *p);
/* Removes all processes and closes their files, in pieces; returns true while there are more. Call
 * it only when no pass is active and none follows. */
#define PROCESS_POLL_PIECE 64u
bool process_poll_free_rows(struct process_poll *p);
void process_poll_deinit(struct process_poll *p);
