/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/process_counters.h"
#include "procfs/process/process_tracks.h"
#include "procfs/process/process_writer.h"
#include "procfs/process/taskstats.h"
#include "base/event_loop/time_slice.h"
#include "procfs/process/process_queue.h"

/*
 * Rows that a poll keeps between passes, one for each existing process: the open files of the
 * process, and its last counters, to find those that have changed.
 *
 * A pass moves the row of each process it meets from the last pass (process_table_take). At its end
 * process_table_drop_exited() drops the rows of processes that it did not meet.
 */

struct polled {
	struct process_counter_files source; /* owned; its pid is the key of the row */
	uint32_t has; /* bits by enum process_counter: counters in the trace */
	bool is_new; /* its counters have not been read yet */
	bool taken; /* the row has moved to the next pass */
	uint64_t v[PROCESS_COUNTERS];
	struct process_tracks_row tracks;
};

struct polled_rows {
	struct polled *rows; /* owned */
	size_t n;
	size_t cap;
};

/* The owner sets gone and ctx; the rest is zero-initialised. */
struct process_table {
	void (*gone)(void *ctx, struct polled *p); /* called before a row is dropped; may be NULL */
	void *ctx;
	struct polled_rows last; /* sorted by pid */
	struct polled_rows next; /* in the order of the pass */
	size_t released; /* number of rows of last that process_table_drop_exited has checked */
};

#define PROCESS_TABLE_PIECE 64u /* rows that are checked or dropped in one piece */
/*
 * Drops all rows without calling gone and closes their files, in pieces; returns true while there
 * are more. Call it only when no pass is active and none follows.
 */
bool process_table_release(struct process_table *t);

/*
 * Describes every existing task, in time slices. Tasks that start during the walk may be missed;
 * events report them. Tasks that started before the events began are found by a second walk, which
 * skips the processes that are written already (only_new).
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

/* Returns 0 or -errno. */
int process_scan_begin(struct process_scan *s, const struct process_writer *n, bool only_new);
/*
 * Runs until the time slice is over (returns true) or the walk is complete (returns false). It
 * serves at least one task.
 */
bool process_scan_run(struct process_scan *s, struct process_writer *n,
		      const struct time_slice *slice);
/* Ends the walk, complete or not; may be called again. */
void process_scan_end(struct process_scan *s);
static inline bool process_scan_is_active(const struct process_scan *s)
{
	return pid_list_is_open(&s->processes);
}

/*
 * Polls all processes, in time slices. A pass writes the counters that have changed, and queues
 * processes that are not in the trace yet; threads too if their CPU time is read. It forgets
 * processes that have exited since the last pass.
 */

struct process_poll_options {
	struct process_counters_options counters;
	/* Every n-th pass writes all counters, changed or not; 1: every pass. */
	uint32_t full_every;
};

/* The state of a pass: first all tasks, then the exited ones. */
enum process_poll_at { POLL_IDLE, POLL_TASKS, POLL_GONE_PROCESSES, POLL_GONE_THREADS };

/* The owner sets options, and before each pass knows_starts and reported_until; the rest is
 * zero-initialised. */
struct process_poll {
	struct process_poll_options options;
	/* a publisher reports the start of all tasks, so a reused id is detected */
	bool knows_starts;
	uint64_t reported_until; /* CLOCK_BOOTTIME: all earlier starts have been reported */
	struct process_writer *writer; /* borrowed during a pass */
	enum process_poll_at at;
	struct pid_list processes; /* open while the tasks are walked */
	struct process_table table;
	struct process_tracks tracks; /* disabled unless the owner has initialised it */
	/* when the poll first saw a task that has no row: s of CLOCK_BOOTTIME; 0: it has not */
	struct pid_map unknown;
	uint32_t pass;
};

void process_poll_deinit(struct process_poll *p);
/*
 * Call it when an event has reported the task: the poll no longer waits for that report. The id may
 * belong to a new task.
 */
void process_poll_task_reported(struct process_poll *p, int32_t tid);
/* Returns 0 or -errno. */
int process_poll_begin(struct process_poll *p, struct process_writer *n);
/*
 * Runs until the time slice is over (returns true) or the pass is complete (returns false). It
 * serves at least one task.
 */
bool process_poll_run(struct process_poll *p, struct process_writer *n, struct process_queue *q,
		      const struct time_slice *slice);
/* Ends a pass before it is complete. The state of the processes is kept. */
void process_poll_end(struct process_poll *p);
/* Forgets which counters and tracks were written: the next pass writes them all. */
void process_poll_clear(struct process_poll *p);
static inline bool process_poll_is_active(const struct process_poll *p)
{
	return p->at != POLL_IDLE;
}
