/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/pid_set.h"

/*
 * A sparse array of values, indexed by task id; all values are 0 at first. A leaf holds the values
 * of PID_LEAF consecutive ids and is allocated when the first of them is stored. Zero-initialise.
 */
#define PID_LEAF 1024

struct pid_leaves {
	void *of[PID_LIMIT / PID_LEAF]; /* owned; NULL: all values are 0 */
	size_t n; /* 1 + the index of the last leaf that is not NULL */
};

/* A map from task ids to numbers; every number is 0 at first. Zero-initialise. */
struct pid_map {
	struct pid_leaves leaves; /* int32_t */
};

/* Returns 0 for ids outside of 0 < tid < PID_LIMIT. */
int32_t pid_map_get(const struct pid_map *m, int32_t tid);
/* Returns 0, -ERANGE or -ENOMEM. */
int pid_map_set(struct pid_map *m, int32_t tid, int32_t v);
void pid_map_clear(struct pid_map *m);

/*
 * Maps each thread to its process and each process to its parent. Entries survive the task until
 * its id is reused, because later packets may refer to them.
 *
 * Callers keep the parent of a process that was known first. When a parent exits, /proc reports a
 * new parent; a reader of the trace would take the child of another parent for a new process.
 */

/* Zero-initialise. Values of the map: the process of a thread, or -1 - parent of a process. */
struct pid_relations {
	struct pid_map map;
};

#define PID_NO_PARENT INT32_MAX /* the parent is unknown */

/* If memory runs out, the entry is not stored. */
static inline void pid_relations_put_thread(struct pid_relations *k, int32_t tid, int32_t tgid)
{
	(void)pid_map_set(&k->map, tid, tgid);
}

static inline void pid_relations_put_process(struct pid_relations *k, int32_t pid, int32_t ppid)
{
	(void)pid_map_set(&k->map, pid, -1 - ppid);
}

static inline void pid_relations_forget(struct pid_relations *k, int32_t tid)
{
	(void)pid_map_set(&k->map, tid, 0);
}

/* Returns the process of a task, which may be the task itself; 0 if it is unknown. */
static inline int32_t pid_relations_tgid(const struct pid_relations *k, int32_t tid)
{
	int32_t v = pid_map_get(&k->map, tid);

	return v < 0 ? tid : v;
}

/* Returns the parent of a process, or PID_NO_PARENT. */
static inline int32_t pid_relations_parent(const struct pid_relations *k, int32_t pid)
{
	int32_t v = pid_map_get(&k->map, pid);

	return v < 0 ? -1 - v : PID_NO_PARENT;
}

/* Start and end of the last task that had an id. CLOCK_BOOTTIME; 0: unknown, or not yet ended. */
struct task_times {
	uint64_t began_ns, ended_ns;
};

/* Zero-initialise. */
struct pid_times {
	struct pid_leaves leaves; /* struct task_times */
};

/* If memory runs out, the time is not stored. */
void pid_times_put_begin(struct pid_times *t, int32_t tid, uint64_t ns);
void pid_times_put_end(struct pid_times *t, int32_t tid, uint64_t ns);
struct task_times pid_times_get(const struct pid_times *t, int32_t tid);
void pid_times_clear(struct pid_times *t);
