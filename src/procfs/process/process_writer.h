/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop/time_slice.h"
#include "procfs/process/proc_files.h"
#include "procfs/process/pid_map.h"
#include "procfs/process/process_packet.h"

/*
 * Writes tasks to the process tree, each once: reads its files, writes its rows and marks it as
 * emitted. A process has one Process row and, unless skip_main_thread is set, the Thread row of its
 * leader.
 */

struct process_writer_options {
	bool thread_names;
	bool age; /* process_start_from_boot */
	bool skip_main_thread;
};

#define PROCESS_UNREAD_MAX                                                                         \
	1024u /* above this number a missing command line is not read again; the name stays */

/* The owner sets options, files and packet; the rest is zero-initialised. */
struct process_writer {
	struct process_writer_options options;
	struct proc_files *files; /* borrowed */
	struct process_packet *packet; /* borrowed */
	struct pid_set seen;
	/*
	 * Pids of processes whose command line is still to be read: another task held the lock of
	 * their memory map at the last attempt.
	 */
	int32_t unread[PROCESS_UNREAD_MAX];
	unsigned n_unread;
	struct pid_set by_name; /* processes whose name was written in place of the command line */
	struct pid_times times;
	uint64_t flushed_ns; /* CLOCK_BOOTTIME at which the last flush was answered; 0: never */
	struct pid_relations relations;
};

void process_writer_deinit(struct process_writer *n);

/*
 * Reads the missing command lines again until the time slice is over, and writes the rows of the
 * processes that have one now.
 */
void process_writer_read_again(struct process_writer *n, const struct time_slice *slice);

/*
 * Tasks in seen are not written again. A task that exits before its files are read is skipped and
 * not marked.
 */

/* Writes a task; for a thread, first its process. */
void process_writer_write_task(struct process_writer *n, int32_t tid);

/*
 * Writes a process. *ret_status: its status, for a walk over its threads. Returns false if the
 * process has exited, pid is not a leader, or it has not run yet.
 */
bool process_writer_write_process(struct process_writer *n, int32_t pid,
				  struct proc_status *ret_status);
/*
 * Writes a thread of an emitted process, from the open list of its threads. namespaced: also reads
 * its ids inside its namespaces.
 */
void process_writer_write_thread(struct process_writer *n, const struct pid_list *threads,
				 int32_t tid, bool namespaced);
/* Writes a thread whose process and name are known. */
void process_writer_write_named_thread(struct process_writer *n, int32_t pid, int32_t tid,
				       const struct proc_name *name);

/*
 * The state of a task: what events reported about it, merged, from its start on if an event
 * reported the start.
 */
struct task_state {
	uint64_t began_ns; /* CLOCK_BOOTTIME; 0: no start was reported, or its time is unknown */
	uint64_t last_ns; /* time of the last event; 0: unknown */
	int32_t tid;
	int32_t creator; /* valid if is_new */
	int32_t was; /* its id before an exec gave it the id of its leader; 0: no change */
	bool is_new;
	bool is_thread; /* valid if is_new */
	bool is_sibling; /* valid if is_new: it is a sibling of its creator (CLONE_PARENT) */
	bool awaits_start; /* another publisher may report its start */
	bool has_name;
	bool has_ended;
	/* write it without reading /proc: the id was reused, or the queue is too long */
	bool closed;
	uint32_t file_len;
	char *file; /* file name of its program; NULL: no exec was reported */
	char name[16]; /* up to the first NUL */
};

/*
 * Records the start or the exit of a task (ns: CLOCK_BOOTTIME; 0: unknown) at once, before its
 * queued state is written.
 */
void process_writer_task_began(struct process_writer *n, int32_t tid, uint64_t ns);
void process_writer_task_ended(struct process_writer *n, int32_t tid, uint64_t ns);

/*
 * Writes the task again: from its files if it exists, with the name of the event; else from the
 * events alone.
 */
void process_writer_write_state(struct process_writer *n, const struct task_state *t);

/* Forgets everything that was written; marks the next packet, so that readers forget it too. */
void process_writer_clear(struct process_writer *n);
