/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"

/*
 * Threads and processes of one machine. A number of the kernel (tid, pid) is used again after its
 * task ended; utid and upid are not. Threads of a tid that may still live form a list, the newest
 * first.
 */

/*
 * The source of the name of a thread or process. A name is replaced by one of the same rank or a
 * higher one.
 */
enum thread_namer {
	THREAD_UNNAMED,
	THREAD_BY_FTRACE,
	THREAD_BY_TREE,
	THREAD_BY_TYPE,
	THREAD_BY_DESCRIPTOR,
	THREAD_IDLE
};
enum process_namer {
	PROCESS_UNNAMED,
	PROCESS_BY_LABEL,
	PROCESS_BY_DESCRIPTOR,
	PROCESS_BY_RENDERER,
	PROCESS_BY_SYSTEM
};

struct task_number; /* by tid or pid */
struct task_wait;

/* By utid, for all machines. */
struct thread_info {
	uint32_t older; /* of the same tid; NULL_U32: none */
	uint32_t state_row; /* open row of thread_state */
	uint32_t blocked_row; /* its last row while it was blocked */
	uint32_t waits; /* first of task_infos.waits; NULL_U32: none */
	uint32_t in_write; /* slice of an open sys_write */
	uint8_t namer;
};

/* By upid, for all machines. */
struct process_info {
	uint8_t namer;
	uint8_t is_kthread; /* NULL_U8: unknown */
};

struct task_infos {
	struct thread_info *threads; /* owned */
	size_t n_threads, cap_threads;
	struct process_info *processes; /* owned */
	size_t n_processes, cap_processes;
	struct task_wait *waits; /* owned: for a thread's process to become known */
	size_t n_waits, cap_waits;
};

struct tasks {
	struct store *store;
	struct task_infos *infos; /* borrowed */
	uint32_t machine; /* row */
	uint32_t idle; /* utid of tid 0 */
	uint32_t **pages; /* owned: utid by tid, for tids of the kernel */
	struct task_number *tids, *pids; /* owned hashes: other tids; all pids */
};

/* Makes the idle process and thread. infos is borrowed. */
void tasks_init(struct tasks *t, struct store *store, struct task_infos *infos, uint32_t machine);
void tasks_deinit(struct tasks *t);
void task_infos_deinit(struct task_infos *infos);

/* Returns the utid of the living thread with this tid, which is made if there is none. */
uint32_t tasks_thread(struct tasks *t, int64_t tid);
/* Returns false if the thread has ended, or if another process has the pid of its process. */
bool tasks_is_alive(const struct tasks *t, uint32_t utid);
/* Returns the utid of the living thread with this tid, or NULL_U32. */
uint32_t tasks_find_thread(struct tasks *t, int64_t tid);
/* Makes a new thread, even if another one with this tid is alive. start: NULL_I64: unknown. */
uint32_t tasks_new_thread(struct tasks *t, int64_t tid, int64_t start);
/*
 * Returns the upid of the living process with this pid; makes it, with a main thread, if there is
 * none.
 */
uint32_t tasks_process(struct tasks *t, int64_t pid);
/* Makes a new process and its main thread. */
uint32_t tasks_new_process(struct tasks *t, int64_t pid, int64_t start, uint32_t *ret_main);
/*
 * Returns the thread with this tid in this process. Makes it, or assigns it to the process, if
 * necessary.
 */
uint32_t tasks_thread_of(struct tasks *t, int64_t tid, int64_t pid);
/* Returns the upid of the thread's process; NULL_U32: unknown. */
uint32_t tasks_upid(const struct tasks *t, uint32_t utid);

void tasks_name_thread(struct tasks *t, uint32_t utid, uint32_t name, enum thread_namer by);
void tasks_name_process(struct tasks *t, uint32_t upid, uint32_t name, enum process_namer by);

/*
 * As soon as the process of `thread` is known: makes it the parent of the process upid; assigns the
 * thread utid to it.
 */
void tasks_set_parent_of(struct tasks *t, uint32_t upid, uint32_t thread);
void tasks_share_process(struct tasks *t, uint32_t utid, uint32_t thread);

/* Ends the task with this tid. */
void tasks_end(struct tasks *t, int64_t tid, int64_t ts);
