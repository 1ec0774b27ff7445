/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "procfs/process/pid_map.h"
#include "procfs/process/proc_files.h"

struct writer;

/*
 * What ProcessStats has no field for, as tracks under the process or thread that it is of:
 *
 *	process --> "io.rchar" ... "io.cancelled_write_bytes"   /proc/PID/io
 *	        \-> "cgroup": instants, whose name is the path  /proc/PID/cgroup
 *	thread  --> "sched.run_ns", "sched.wait_ns"             /proc/PID/task/TID/schedstat
 *
 * A pass over the processes calls, of each: process_usage_read, then process_usage_thread until it
 * has no more. Values are written when they change, and at a flush. An instant tells the cgroup
 * when the process is first met, when it has another one, and after a clear.
 */

struct process_usage_options {
	bool io;
	bool sched;
	bool cgroup;
};

/* Of one process, kept by the poll from one pass to the next; zero-initialise. */
struct process_usage_row {
	uint32_t group; /* handles of tracks */
	uint32_t cgroup;
	uint32_t io[PROC_IO_KEYS];
	uint64_t cgroup_hash; /* of the one that was told; 0: none */
	uint32_t cgroup_clears; /* how many clears there had been then */
};

struct thread_usage;

/* options are set by the owner; the rest starts at zero. */
struct process_usage {
	struct process_usage_options options;
	struct writer *writer; /* borrowed; nothing else writes with it */
	struct writer *thread_writer; /* likewise; NULL: none */
	struct tracks *tracks; /* owned; NULL: nothing of this is asked for */
	struct proc_list threads; /* open: in the middle of a process */
	struct thread_usage *by_tid; /* owned, a hash table */
	struct thread_usage *next; /* borrowed from it: where process_usage_turn goes on */
	bool turned; /* it is at next, and not at the beginning */
	struct process_seen used; /* numbers of tasks that have ended */
	uint64_t now;
	uint32_t pass;
	uint32_t clears;
};

/* thread_writer: NULL where threads have no counters. 0 or -ENOMEM. */
int process_usage_init(struct process_usage *u, struct writer *w, struct writer *thread_writer);
void process_usage_deinit(struct process_usage *u);

static inline bool process_usage_is_on(const struct process_usage *u)
{
	return u->tracks != NULL;
}

/* At the start of a turn. */
void process_usage_begin(struct process_usage *u);
/* Of one process. */
void process_usage_read(struct process_usage *u, struct proc_files *f, int32_t pid,
			struct process_usage_row *row);
/* True: one of the threads of that process, ret_tid, was read, and there may be more. */
bool process_usage_thread(struct process_usage *u, struct proc_files *f, int32_t *ret_tid);
/* The process has ended. */
void process_usage_gone(struct process_usage *u, int32_t pid, struct process_usage_row *row);
/* The pass is over: threads that it did not meet have ended. Piece by piece, true: there are more to
 * look at, before the next pass. */
#define PROCESS_USAGE_PIECE 64u
bool process_usage_turn(struct process_usage *u);
/* What is gathered is written; before anybody waits. */
void process_usage_end(struct process_usage *u);

/* How many tracks there was no room for (client/counters/tracks.h has a limit). */
uint64_t process_usage_refused(const struct process_usage *u);
/* The last values, for a reader of what was flushed. Piece by piece, true: there are more. */
bool process_usage_flush(struct process_usage *u);
void process_usage_clear(struct process_usage *u);
