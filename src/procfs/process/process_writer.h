/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop/time_slice.h"
#include "procfs/process/proc_files.h"
#include "procfs/process/pid_map.h"
#include "procfs/process/process_packet.h"

/*
 * Describes tasks in the process tree, each once: reads its files, writes its rows, remembers it.
 * The rows of a process are one Process and, but for skip_main_thread, the Thread of its leader.
 */

struct process_writer_options {
	bool thread_names;
	bool age; /* process_start_from_boot */
	bool skip_main_thread;
};

#define PROCESS_UNREAD_MAX 1024u /* of more than these the name stands in for the command line */

/* seen, unread, by_name, ends and kin start at zero. */
struct process_writer {
	struct process_writer_options options;
	struct proc_files *files; /* borrowed */
	struct process_packet *packet; /* borrowed */
	struct pid_set seen;
	/* Processes whose command line could not be read in time: others hold a lock that it takes. */
	int32_t unread[PROCESS_UNREAD_MAX];
	unsigned n_unread;
	struct pid_set by_name; /* processes whose name stood in for the command line */
	struct pid_exits exits;
	struct pid_relations relations;
};

void process_writer_deinit(struct process_writer *n);

/* Reads the command lines in unread again until the time slice is over, and writes the rows of those that
 * come. */
void process_writer_read_again(struct process_writer *n, const struct time_slice *turn);

/* A process that is in seen is not described again; neither is a thread. What has gone before its
 * files were read is left out and not remembered. */

/* The task that has this number, whatever it is; of a thread first the process. */
void process_writer_write_task(struct process_writer *n, int32_t tid);

/* A process by the number of its leader. ret_status: what was read, for a look at its threads.
 * False: it is gone, is no leader, or has not run yet. */
bool process_writer_write_process(struct process_writer *n, int32_t pid,
				  struct proc_status *ret_status);
/* A thread of a process that was described, from the open list of its threads; namespaced: its
 * numbers inside are to be read. */
void process_writer_write_thread(struct process_writer *n, const struct pid_list *threads,
				 int32_t tid, bool namespaced);
/* A thread whose process and name are known. */
void process_writer_write_named_thread(struct process_writer *n, int32_t pid, int32_t tid,
				       const struct proc_name *name);

/* What was heard of a task, from one moment to another: first that it began, if it did. */
struct task_state {
	uint64_t began_ns; /* CLOCK_BOOTTIME; 0: not heard, or not known when */
	uint64_t last_ns; /* of the latest; 0: not known */
	int32_t tid;
	int32_t creator; /* where it began */
	int32_t was; /* its number before it took this one, by an exec; 0: the same */
	bool is_new;
	bool is_thread; /* where it began */
	bool is_sibling; /* of its creator, where it began */
	bool has_name;
	bool has_ended;
	bool closed; /* not to be looked for in /proc: another task has the number, or no time is left */
	uint32_t file_len;
	char *file; /* of the program that it runs now; NULL: no exec */
	char name[16]; /* up to the first NUL */
};

/* The task has begun, or ended (ns: CLOCK_BOOTTIME; 0: not known), whatever waits of it to be described. */
void process_writer_task_began(struct process_writer *n, int32_t tid);
void process_writer_task_ended(struct process_writer *n, int32_t tid, uint64_t ns);

/* Described anew: by its files while it is there, but for the name, of which the events know best;
 * else by what was heard. */
void process_writer_write_state(struct process_writer *n, const struct task_state *t);

/* All of them are out of date, and the reader shall forget as well. */
void process_writer_clear(struct process_writer *n);
