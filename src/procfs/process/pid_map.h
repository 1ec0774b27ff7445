/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/pid_set.h"

/*
 * A map from task ids to numbers; every number is 0 at first. It takes at most 16 MiB, and 4 KiB
 * for each 1024 ids in use.
 */
#define PID_MAP_LEAF 1024 /* values in a leaf of 4 KiB */

/* Zero-initialise. */
struct pid_map {
	int32_t *leaf[PID_LIMIT / PID_MAP_LEAF]; /* owned; NULL: all values are 0 */
	size_t n_leaves; /* up to the last one that is not NULL */
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
 * The parent is the one that was known first. When a parent exits, /proc reports a new parent; a
 * reader of the trace would take the child for a new process.
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

/*
 * When the last task of an id began and when it ended; CLOCK_BOOTTIME. Zero-initialise. A time is
 * stored in two maps, because a value of one map has 31 bits. Times of the first two seconds after
 * boot are unknown.
 */
struct pid_times {
	struct pid_map began_high, began_low, ended_high, ended_low;
};

/* If memory runs out, the time is not stored. */
static inline void pid_times_put(struct pid_times *t, int32_t tid, uint64_t ns, bool ended)
{
	struct pid_map *high = ended ? &t->ended_high : &t->began_high;
	struct pid_map *low = ended ? &t->ended_low : &t->began_low;

	if (pid_map_set(low, tid, (int32_t)(ns & INT32_MAX)) < 0)
		ns = 0;
	(void)pid_map_set(high, tid, (int32_t)(ns >> 31));
	if (!ended)
		(void)pid_map_set(&t->ended_high, tid, 0);
}

static inline uint64_t pid_times_of(const struct pid_map *high, const struct pid_map *low,
				    int32_t tid)
{
	uint64_t above = (uint64_t)pid_map_get(high, tid);

	return above ? above << 31 | (uint64_t)pid_map_get(low, tid) : 0;
}

/* Returns 0 if the time is unknown, or the task has not ended. */
static inline uint64_t pid_times_ended(const struct pid_times *t, int32_t tid)
{
	return pid_times_of(&t->ended_high, &t->ended_low, tid);
}

/* Returns 0 if the time is unknown. */
static inline uint64_t pid_times_began(const struct pid_times *t, int32_t tid)
{
	return pid_times_of(&t->began_high, &t->began_low, tid);
}

static inline void pid_times_clear(struct pid_times *t)
{
	pid_map_clear(&t->began_high);
	pid_map_clear(&t->began_low);
	pid_map_clear(&t->ended_high);
	pid_map_clear(&t->ended_low);
}
