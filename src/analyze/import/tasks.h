/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"

/*
 * Threads and processes of one machine. The kernel reuses a number (tid, pid) after its task has
 * ended; a utid or upid is used only once. Threads of one tid that may still live form a list, the
 * newest first. A thread of one process is found without walking through the threads of others.
 */

/* The source of the name of a thread or process. A name is replaced by one of the same rank or a
 * higher one. */
enum thread_namer {
	THREAD_UNNAMED,
	THREAD_BY_FTRACE,
	THREAD_BY_TREE,
	THREAD_BY_TYPE,
	THREAD_BY_DESCRIPTOR,
	THREAD_IDLE
};
enum process_namer { PROCESS_UNNAMED, PROCESS_BY_DESCRIPTOR, PROCESS_BY_SYSTEM };

struct task_number; /* by tid or pid */
struct task_wait;

#define NO_RANK INT32_MIN

/* By utid, for all machines. */
struct thread_info {
	uint32_t older; /* utid of the next older thread of its tid; NULL_U32: none */
	uint32_t oldest; /* utid of the oldest thread of this list */
	uint32_t free; /* utid of an older thread that may be of no process; NULL_U32: none */
	uint32_t state_row; /* its open row of thread_state; NULL_U32: none */
	uint32_t blocked_row; /* row of thread_state of its last block; NULL_U32 once it runs */
	uint32_t waits; /* index of the first of task_infos.waits; NULL_U32: none */
	int64_t timer_due; /* ns: when the timer fires that ends its sleep; NULL_I64: none */
	uint64_t timer; /* number of that timer, valid in the sequence's state timer_state */
	uint32_t timer_state;
	uint32_t in_write; /* slice of its open sys_write, or WRITE_CUT; NULL_U32: none */
	uint8_t namer;
	int32_t rank; /* where the program wants it to be shown; NO_RANK: anywhere */
};

/* By upid, for all machines. */
struct process_info {
	uint8_t namer;
	uint8_t is_kthread; /* NULL_U8: unknown */
	bool replaced; /* another process has its pid */
	int32_t rank; /* as of a thread */
};

struct task_infos {
	struct thread_info *threads; /* owned */
	size_t n_threads, cap_threads;
	struct process_info *processes; /* owned */
	size_t n_processes, cap_processes;
	struct task_wait *waits; /* owned: what to do when a thread's process becomes known */
	size_t n_waits, cap_waits;
};

struct tasks {
	struct store *store;
	struct task_infos *infos; /* borrowed */
	uint32_t machine; /* row */
	uint32_t idle; /* utid of tid 0 */
	uint32_t **pages; /* owned: the newest utid by tid, for tids that Linux can have */
	struct task_number *tids, *pids; /* owned hashes: utid by other tids; upid by pid */
	struct task_number *members; /* owned hash: utid by list of threads and process */
};

/* Makes the idle process and thread. infos is borrowed. */
void tasks_init(struct tasks *t, struct store *store, struct task_infos *infos, uint32_t machine);
void tasks_deinit(struct tasks *t);
void task_infos_deinit(struct task_infos *infos);

/* Returns the utid of the living thread with this tid; makes it if there is none. */
uint32_t tasks_get_thread(struct tasks *t, int64_t tid);
/* Returns false if the thread or its process ended, or another process has its process's pid. */
bool tasks_is_alive(const struct tasks *t, uint32_t utid);
/* Returns the utid of the living thread with this tid, or NULL_U32. */
uint32_t tasks_find_thread(struct tasks *t, int64_t tid);
/* Makes a new thread, even if another one with this tid is alive. start: ns; NULL_I64: unknown. */
uint32_t tasks_new_thread(struct tasks *t, int64_t tid, int64_t start);
/* Returns the upid of the living process with this pid; makes it, with a main thread, if there is
 * none. */
uint32_t tasks_get_process(struct tasks *t, int64_t pid);
/* Makes a new process, which replaces one with this pid, and its main thread. start: ns;
 * NULL_I64: unknown. */
uint32_t tasks_new_process(struct tasks *t, int64_t pid, int64_t start, uint32_t *ret_main);
/* Returns the utid of the thread with this tid in this process. Makes the thread, or assigns it to
 * the process, if necessary. */
uint32_t tasks_get_thread_of_process(struct tasks *t, int64_t tid, int64_t pid);
/* Returns the upid of the thread's process; NULL_U32: unknown. */
uint32_t tasks_upid(const struct tasks *t, uint32_t utid);

/* Set a name, unless the current name comes from a source of higher rank than `by`. NULL_U32 is
 * ignored. */
void tasks_name_thread(struct tasks *t, uint32_t utid, uint32_t name, enum thread_namer by);
void tasks_name_process(struct tasks *t, uint32_t upid, uint32_t name, enum process_namer by);

/* Makes the process of `thread` the parent of the process upid, as soon as it is known. */
void tasks_set_parent_of(struct tasks *t, uint32_t upid, uint32_t thread);
/* Puts two threads into one process, as soon as the process of either is known. */
void tasks_share_process(struct tasks *t, uint32_t utid, uint32_t thread);

/* Ends the living thread with this tid at ts (ns), and its process if it is the main thread. */
void tasks_end_thread(struct tasks *t, int64_t tid, int64_t ts);
