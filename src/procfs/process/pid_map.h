/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A set of task numbers: those that the trace has described already. At most 512 KiB however many
 * tasks there are; a machine that has given out few numbers takes 4 KiB.
 */

/* The kernel gives out no number from here on (PID_MAX_LIMIT). */
#define PID_LIMIT (1 << 22)
#define PID_SET_LEAF (1 << 15) /* numbers in a leaf of 4 KiB */

/* Zero-initialise. */
struct pid_set {
	uint64_t *leaf[PID_LIMIT / PID_SET_LEAF]; /* owned; NULL: none of its range */
};

/* Outside of 0 < tid < PID_LIMIT nothing is ever in the set. */
bool pid_set_has(const struct pid_set *s, int32_t tid);
/* 0, -ERANGE or -ENOMEM. */
int pid_set_add(struct pid_set *s, int32_t tid);
void pid_set_remove(struct pid_set *s, int32_t tid);
void pid_set_clear(struct pid_set *s);

/*
 * A number for each task number, 0 at first: at most 16 MiB however many tasks there are; a machine
 * that has given out few numbers takes 4 KiB for each thousand.
 */
#define PID_MAP_LEAF 1024 /* numbers in a leaf of 4 KiB */

/* Zero-initialise. */
struct pid_map {
	int32_t *leaf[PID_LIMIT / PID_MAP_LEAF]; /* owned; NULL: all of them are 0 */
};

/* Outside of 0 < tid < PID_LIMIT it is always 0. */
int32_t pid_map_get(const struct pid_map *m, int32_t tid);
/* 0, -ERANGE or -ENOMEM. */
int pid_map_set(struct pid_map *m, int32_t tid, int32_t v);
void pid_map_clear(struct pid_map *m);

/*
 * Whose a task is: the process of a thread, the parent of a process. It is kept when a task has
 * ended, until its number is given to another one, because of what may still have to be told of it.
 *
 * The parent is the one that the process had when it was first heard of. /proc names another one as
 * soon as that has ended, and readers of a trace would take the process for a new one.
 */

/* Zero-initialise. In the map: the process of a thread, or -1 - parent of a process. */
struct pid_relations {
	struct pid_map map;
};

#define PID_NO_PARENT INT32_MAX /* none is known */

/* Without memory it is as if nothing were known. */
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

/* The process of a task, which may be its leader; 0: not known. */
static inline int32_t pid_relations_tgid(const struct pid_relations *k, int32_t tid)
{
	int32_t v = pid_map_get(&k->map, tid);

	return v < 0 ? tid : v;
}

/* The parent of a process, or PID_NO_PARENT. */
static inline int32_t pid_relations_parent(const struct pid_relations *k, int32_t pid)
{
	int32_t v = pid_map_get(&k->map, pid);

	return v < 0 ? -1 - v : PID_NO_PARENT;
}

/*
 * When tasks ended, of those whose end was heard and no later begin of the same number. Zero-initialise.
 * A time has two maps, as the values of one are 31 bits and a sign.
 */
struct pid_exits {
	struct pid_map high, low;
};

/* ns: CLOCK_BOOTTIME; 0: it has not ended. Without memory it is as if nothing were heard. */
static inline void pid_exits_put(struct pid_exits *e, int32_t tid, uint64_t ns)
{
	if (pid_map_set(&e->low, tid, (int32_t)(ns & INT32_MAX)) < 0)
		ns = 0;
	(void)pid_map_set(&e->high, tid, (int32_t)(ns >> 31));
}

/* 0: not heard. Ends in the first two seconds after the boot are not known. */
static inline uint64_t pid_exits_get(const struct pid_exits *e, int32_t tid)
{
	uint64_t high = (uint64_t)pid_map_get(&e->high, tid);

	return high ? high << 31 | (uint64_t)pid_map_get(&e->low, tid) : 0;
}

static inline void pid_exits_clear(struct pid_exits *e)
{
	pid_map_clear(&e->high);
	pid_map_clear(&e->low);
}
