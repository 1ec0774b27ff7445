/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "procfs/process/proc_files.h"
#include "procfs/process/task_table.h"

struct writer;

/*
 * Writes counters that have no field in ProcessStats as tracks below the process or thread:
 *
 *	process --> "io.rchar" ... "io.cancelled_write_bytes"   /proc/PID/io
 *	        \-> "cgroup": instants, whose name is the path  /proc/PID/cgroup
 *	thread  --> "sched.run_ns", "sched.wait_ns"             /proc/PID/task/TID/schedstat
 *
 * A pass calls for each process process_tracks_read_process(), then process_tracks_read_thread()
 * until it returns false. Values are written when they change and at a flush. The cgroup of a
 * process is written when the process is new, when it moves to another cgroup, and after the
 * incremental state was cleared.
 */

struct process_tracks_options {
	bool io;
	bool sched;
	bool cgroup;
};

/* The tracks of one process, kept between passes; zero-initialise. */
struct process_tracks_row {
	uint32_t group; /* handles of tracks */
	uint32_t cgroup;
	uint32_t io[PROC_IO_KEYS];
	bool has_io; /* io was read */
	uint64_t cgroup_hash; /* hash of the cgroup that was written; 0: none */
	uint32_t cgroup_clears; /* clears of struct process_tracks at that time */
	uint32_t polls; /* number of polls */
};

struct thread_usage;

/* The owner sets options; the rest is zero-initialised. */
struct process_tracks {
	struct process_tracks_options options;
	struct writer *writer; /* borrowed; used for these tracks only */
	struct writer *thread_writer; /* likewise; NULL: threads have no counters */
	struct tracks *tracks; /* owned; NULL: disabled */
	struct task_table *tasks; /* borrowed; has_exited of its entries is kept here */
	struct pid_list threads; /* open while the threads of a process are walked */
	struct thread_usage *by_tid; /* owned, a hash table */
	struct thread_usage
		*next; /* points into by_tid: where process_tracks_drop_exited continues */
	bool has_next; /* next is set */
	uint64_t now;
	uint32_t pass;
	uint32_t clears;
};

/* Borrows the writers and the table. thread_writer: NULL if threads have no counters. Returns 0 or
 * -ENOMEM. */
int process_tracks_init(struct process_tracks *u, struct task_table *tasks, struct writer *w,
			struct writer *thread_writer);
void process_tracks_deinit(struct process_tracks *u);

static inline bool process_tracks_is_enabled(const struct process_tracks *u)
{
	return u->tracks != NULL;
}

/* Sets the time of the values that follow. Call it at the start of a time slice. */
void process_tracks_begin(struct process_tracks *u);
/* Reads and writes the tracks of one process. idle: the process has not run since the last call, so
 * its io is unchanged, and its control group most likely. */
void process_tracks_read_process(struct process_tracks *u, struct proc_files *f, int32_t pid,
				 bool idle, struct process_tracks_row *row);
/* Reads one thread of the process of the last process_tracks_read_process(). Returns true with its
 * id in *ret_tid, or false if there are no more. */
bool process_tracks_read_thread(struct process_tracks *u, struct proc_files *f, int32_t *ret_tid);
/* Removes the tracks of a process that has exited. */
void process_tracks_remove_process(struct process_tracks *u, int32_t pid,
				   struct process_tracks_row *row);
/* Ends the pass: removes the tracks of threads that it did not meet, in pieces. Returns true while
 * there are more to check before the next pass. */
#define PROCESS_TRACKS_PIECE 64u
bool process_tracks_drop_exited(struct process_tracks *u);
/* Writes the pending values; call it at the end of a time slice. */
void process_tracks_end(struct process_tracks *u);

/* Returns how many tracks exceeded the limit of client/counters/tracks.h. */
uint64_t process_tracks_count_refused(const struct process_tracks *u);
/* Writes the last values, in pieces, for a flush. Returns true while there are more. */
bool process_tracks_flush(struct process_tracks *u);
/* Begins a new incremental state: tracks are described again, and all values are written. */
void process_tracks_clear(struct process_tracks *u);
