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
 * What a poll keeps of each process from one pass to the next: the files that it holds open, and the
 * counters as they were, to tell which have changed. One row a process, so it is as large as there
 * are processes, however many have come and gone.
 *
 * A pass takes each process that it meets from the last one (process_table_take); at its end
 * (process_table_turn) those that it has not met are gone.
 */

struct polled {
	struct process_counter_files source; /* owned; its pid is the row's */
	uint32_t has; /* bits by enum process_counter: those in the trace */
	bool is_new; /* no pass has read its counters yet */
	bool taken; /* of a row of the last pass: it has moved to the next */
	uint64_t v[PROCESS_COUNTERS];
	struct process_tracks_row tracks;
};

struct polled_rows {
	struct polled *rows; /* owned */
	size_t n;
	size_t cap;
};

/* gone and ctx are set by the owner; the rest starts at zero. */
struct process_table {
	void (*gone)(void *ctx, struct polled *p); /* before a row goes; may be NULL */
	void *ctx;
	struct polled_rows last; /* sorted by pid */
	struct polled_rows next; /* in the order of the pass */
	size_t released; /* rows of last that process_table_turn has looked at */
};

/* Without telling. */
void process_table_deinit(struct process_table *t);
/* The row of the process, an empty one if the last pass had none; valid until the next call. NULL:
 * out of memory. */
struct polled *process_table_take(struct process_table *t, int32_t pid);
/* The number is another process' now: the row goes and comes back empty. */
void process_table_renew(struct process_table *t, struct polled *p);
/* The pass is over. Piece by piece, true: there are more rows to let go, before the next pass. */
#define PROCESS_TABLE_PIECE 64u
bool process_table_turn(struct process_table *t);
/* Rows go without telling, and with them their open files. Piece by piece, true: there are more. No
 * pass is on, and none follows. */
bool process_table_empty(struct process_table *t);
/* No counter counts as written any more. */
void process_table_forget(struct process_table *t);

/* The counters (bits) that are not in the trace, or not with this value; from here on they are. */
uint32_t polled_change(struct polled *p, const struct process_counters *now);

/*
 * A walk over every task of the machine, describing each, in turns. Tasks that come meanwhile may
 * be missed and tasks that go are left out: the kernel's events tell of both.
 */

/* Zero-initialise. */
struct process_scan {
	struct pid_list processes;
	struct pid_list threads; /* open: in the middle of a process */
	bool namespaced;
	struct taskstats_socket taskstats; /* where the kernel has them */
	unsigned n_waiting; /* threads whose names are to be asked for; none between turns */
	struct taskstats_name waiting[TASKSTATS_MAX];
	int32_t processes_of[TASKSTATS_MAX]; /* of those */
};

/* 0 or -errno. */
int process_scan_begin(struct process_scan *s, const struct process_writer *n);
/* Goes on until the turn is over (true) or the walk is (false). At least one task a turn. */
bool process_scan_run(struct process_scan *s, struct process_writer *n,
		      const struct time_slice *turn);
/* Also in the middle of a walk, and after its end. */
void process_scan_end(struct process_scan *s);
static inline bool process_scan_is_active(const struct process_scan *s)
{
	return pid_list_is_open(&s->processes);
}

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
	struct process_writer *writer; /* borrowed during a pass */
	enum process_poll_at at;
	struct pid_list processes; /* open: in the middle of the tasks */
	struct process_table table;
	struct process_tracks tracks; /* off unless the owner has it initialised */
	uint32_t pass;
};

void process_poll_deinit(struct process_poll *p);
/* 0 or -errno. */
int process_poll_begin(struct process_poll *p, struct process_writer *n);
/* Goes on until the turn is over (true) or the pass is (false). At least one task a turn. */
bool process_poll_run(struct process_poll *p, struct process_writer *n, struct process_queue *q,
		      const struct time_slice *turn);
/* In the middle of a pass: it goes no further. What it has of each process is still known. */
void process_poll_end(struct process_poll *p);
/* Forgets what was written. */
void process_poll_clear(struct process_poll *p);
static inline bool process_poll_is_active(const struct process_poll *p)
{
	return p->at != POLL_IDLE;
}
