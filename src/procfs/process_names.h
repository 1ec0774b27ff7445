/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procfs/proc_files.h"
#include "procfs/process_packet.h"
#include "procfs/process_seen.h"

/*
 * Describes tasks in the process tree, each once: reads its files, writes its rows, remembers it.
 * The rows of a process are one Process and, but for skip_main_thread, the Thread of its leader.
 */

struct process_names_options {
	bool thread_names;
	bool age; /* process_start_from_boot */
	bool skip_main_thread;
};

/* seen starts at zero and is cleared by the owner. */
struct process_names {
	struct process_names_options options;
	struct proc_files *files; /* borrowed */
	struct process_packet *packet; /* borrowed */
	struct process_seen seen;
};

/* A process that is in seen is not described again; neither is a thread. What has gone before its
 * files were read is left out and not remembered. */

/* The task that has this number, whatever it is; of a thread first the process. */
void process_names_task(struct process_names *n, int32_t tid);

/* A process by the number of its leader. ret_status: what was read, for a look at its threads.
 * False: it is gone, or is no leader. */
bool process_names_process(struct process_names *n, int32_t pid, struct proc_status *ret_status);
/* A thread of a process that was described; namespaced: its numbers inside are to be read. */
void process_names_thread(struct process_names *n, int32_t pid, int32_t tid, bool namespaced);

/* Out of date: the next time it is described again. */
void process_names_forget(struct process_names *n, int32_t tid);
/* All of them; and the reader shall forget as well. */
void process_names_clear(struct process_names *n);
