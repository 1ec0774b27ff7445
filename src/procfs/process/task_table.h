/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/pid_set.h"

/* The state of each task id in an instance of linux.process_stats. An entry outlives its task until
 * the id is used again, because later packets may refer to the task. */
struct task {
	/* Start and end of the last task with the id. CLOCK_BOOTTIME; 0: unknown, or not ended. */
	uint64_t began_ns, ended_ns;
	/* a thread: its process; a process: -1 - its parent; 0: unknown. See task_tgid(). */
	int32_t relation;
	uint32_t event; /* number of its entry in task_events.h; stale if that is gone */
	/* s of CLOCK_BOOTTIME at which a poll first met the task without a row; 0: it has not */
	uint32_t unknown_s;
	uint32_t generation : 27; /* when has_row and relation were last valid */
	uint32_t has_row : 1; /* its rows are in the trace */
	uint32_t has_name_only : 1; /* the row of the process has its name for a command line */
	uint32_t is_queued : 1; /* waits in the queue of process_tree.h */
	uint32_t has_exited : 1; /* a task with this id that had tracks has exited */
};

/* Entries come in leaves of consecutive ids, which are allocated when they are needed. */
#define TASK_LEAF 256u

/* Zero-initialise. */
struct task_table {
	struct task **leaves; /* owned; NULL: nothing is known of its ids */
	size_t n_leaves;
	size_t cap_leaves;
	uint32_t generation;
	uint32_t relations_from; /* older generations have no relation any more */
	struct task none; /* returned for an id without an entry */
};

/* Returns the entry of the id. If it has none, the entry is all zero, and what is stored in it is
 * lost with the next call. */
struct task *task_table_find(struct task_table *t, int32_t tid);
/* Like task_table_find(), but makes an entry if there is none, unless the id is outside of
 * 0 < tid < PID_LIMIT or memory runs out. */
struct task *task_table_add(struct task_table *t, int32_t tid);
/* Marks all rows as unwritten, and clears the relations unless keep_relations is set. */
void task_table_clear(struct task_table *t, bool keep_relations);
void task_table_deinit(struct task_table *t);

/* Callers keep the first known parent of a process. When a parent exits, /proc reports a new
 * parent; a reader of the trace would take the child of another parent for a new process. */
#define TASK_NO_PARENT INT32_MAX /* the parent is unknown */

/* Returns the process of a task, which may be the task itself; 0 if it is unknown. */
static inline int32_t task_tgid(struct task_table *t, int32_t tid)
{
	int32_t v = task_table_find(t, tid)->relation;

	return v < 0 ? tid : v;
}

/* Returns the parent of a process, or TASK_NO_PARENT. */
static inline int32_t task_parent(struct task_table *t, int32_t pid)
{
	int32_t v = task_table_find(t, pid)->relation;

	return v < 0 ? -1 - v : TASK_NO_PARENT;
}

static inline void task_set_parent(struct task_table *t, int32_t pid, int32_t parent)
{
	task_table_add(t, pid)->relation = -1 - parent;
}

/* Clears the entry of an id, which may belong to another task by now. */
static inline void task_clear(struct task_table *t, int32_t tid)
{
	struct task *task = task_table_find(t, tid);

	task->has_row = false;
	task->relation = 0;
}

/*
 * Lists the processes of /proc, or the threads of /proc/PID/task. A list may stay open between time
 * slices. The kernel lists by id, so the walk continues although tasks have started or exited.
 */

/* Room for about 80 names: the kernel allocates an inode for each name that it lists. */
#define PROC_LIST_BYTES (2u << 10)

/* Zero-initialise. */
struct pid_list {
	bool open;
	int fd; /* owned while open; task files can be opened relative to it */
	int32_t pid; /* the process whose threads are listed; 0: processes are listed */
	uint32_t expected; /* the walk ends after this many tasks; 0: unknown */
	uint32_t n; /* tasks so far */
	bool skipped; /* the first task, which is the leader, was skipped */
	uint32_t at;
	uint32_t end; /* unread names are in [at, end) */
	_Alignas(8) char names[PROC_LIST_BYTES];
};

/* Opens a list of the threads of process pid, or with pid 0 a list of all processes. root:
 * descriptor of /proc. Returns 0 or -errno. */
int pid_list_open(struct pid_list *l, int root, int32_t pid);
/* Sets how many threads to expect and skips the leader; call it before the first pid_list_next().
 * If fewer threads are found, the list starts again with all tasks. */
void pid_list_expect_threads(struct pid_list *l, uint32_t threads);
/* Returns true and the next task, in the order of the kernel; false at the end. */
bool pid_list_next(struct pid_list *l, int32_t *ret_tid);
void pid_list_close(struct pid_list *l); /* no-op if it is not open */
static inline bool pid_list_is_open(const struct pid_list *l)
{
	return l->open;
}
