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
 * A pass over the processes calls, of each: process_tracks_read, then process_tracks_thread until it
 * has no more. Values are written when they change, and at a flush. An instant tells the cgroup
 * when the process is first met, when it has another one, and after a clear.
 */

struct process_tracks_options {
	bool io;
	bool sched;
	bool cgroup;
};

/* Of one process, kept by the poll from one pass to the next; zero-initialise. */
struct process_tracks_row {
	uint32_t group; /* handles of tracks */
	uint32_t cgroup;
	uint32_t io[PROC_IO_KEYS];
	uint64_t cgroup_hash; /* of the one that was told; 0: none */
	uint32_t cgroup_clears; /* how many clears there had been then */
};

struct thread_usage;

/* options are set by the owner; the rest starts at zero. */
struct process_tracks {
	struct process_tracks_options options;
	struct writer *writer; /* borrowed; nothing else writes with it */
	struct writer *thread_writer; /* likewise; NULL: none */
	struct tracks *tracks; /* owned; NULL: nothing of this is asked for */
	struct pid_list threads; /* open: in the middle of a process */
	struct thread_usage *by_tid; /* owned, a hash table */
	struct thread_usage *next; /* borrowed from it: where process_tracks_turn goes on */
	bool turned; /* it is at next, and not at the beginning */
	struct pid_set used; /* numbers of tasks that have ended */
	uint64_t now;
	uint32_t pass;
	uint32_t clears;
};

/* thread_writer: NULL where threads have no counters. 0 or -ENOMEM. */
int process_tracks_init(struct process_tracks *u, struct writer *w, struct writer *thread_writer);
void process_tracks_deinit(struct process_tracks *u);

static inline bool process_tracks_is_on(const struct process_tracks *u)
{
	return u->tracks != NULL;
}

/* At the start of a turn. */
void process_tracks_begin(struct process_tracks *u);
/* Of one process. */
void process_tracks_read(struct process_tracks *u, struct proc_files *f, int32_t pid,
			 struct process_tracks_row *row);
/* True: one of the threads of that process, ret_tid, was read, and there may be more. */
bool process_tracks_thread(struct process_tracks *u, struct proc_files *f, int32_t *ret_tid);
/* The process has ended. */
void process_tracks_gone(struct process_tracks *u, int32_t pid, struct process_tracks_row *row);
/* The pass is over: threads that it did not meet have ended. Piece by piece, true: there are more to
 * look at, before the next pass. */
#define PROCESS_TRACKS_PIECE 64u
bool process_tracks_turn(struct process_tracks *u);
/* What is gathered is written; before anybody waits. */
void process_tracks_end(struct process_tracks *u);

/* How many tracks there was no room for (client/counters/tracks.h has a limit). */
uint64_t process_tracks_refused(const struct process_tracks *u);
/* The last values, for a reader of what was flushed. Piece by piece, true: there are more. */
bool process_tracks_flush(struct process_tracks *u);
void process_tracks_clear(struct process_tracks *u);
