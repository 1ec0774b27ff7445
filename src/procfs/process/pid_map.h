/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A set of task numbers: those that the trace has described already. At most 512 KiB however many
 * tasks there are; a machine that has given out few numbers takes 4 KiB.
 */

/* The kernel gives out no number from here on (PID_MAX_LIMIT). */
#define PROCESS_SEEN_MAX (1 << 22)
#define PROCESS_SEEN_LEAF (1 << 15) /* numbers in a leaf of 4 KiB */

/* Zero-initialise. */
struct process_seen {
	uint64_t *leaf[PROCESS_SEEN_MAX / PROCESS_SEEN_LEAF]; /* owned; NULL: none of its range */
};

/* Outside of 0 < tid < PROCESS_SEEN_MAX nothing is ever in the set. */
bool process_seen_has(const struct process_seen *s, int32_t tid);
/* 0, -ERANGE or -ENOMEM. */
int process_seen_add(struct process_seen *s, int32_t tid);
void process_seen_remove(struct process_seen *s, int32_t tid);
void process_seen_clear(struct process_seen *s);

/*
 * A number for each task number, 0 at first: at most 16 MiB however many tasks there are; a machine
 * that has given out few numbers takes 4 KiB for each thousand.
 */
#define PROCESS_MAP_LEAF 1024 /* numbers in a leaf of 4 KiB */

/* Zero-initialise. */
struct process_map {
	int32_t *leaf[PROCESS_SEEN_MAX / PROCESS_MAP_LEAF]; /* owned; NULL: all of them are 0 */
};

/* Outside of 0 < tid < PROCESS_SEEN_MAX it is always 0. */
int32_t process_map_get(const struct process_map *m, int32_t tid);
/* 0, -ERANGE or -ENOMEM. */
int process_map_set(struct process_map *m, int32_t tid, int32_t v);
void process_map_clear(struct process_map *m);

/*
 * Whose a task is: the process of a thread, the parent of a process. It is kept when a task has
 * ended, until its number is given to another one, because of what may still have to be told of it.
 *
 * The parent is the one that the process had when it was first heard of. /proc names another one as
 * soon as that has ended, and readers of a trace would take the process for a new one.
 */

/* Zero-initialise. In the map: the process of a thread, or -1 - parent of a process. */
struct process_kin {
	struct process_map map;
};

#define PROCESS_KIN_NO_PARENT INT32_MAX /* none is known */

/* Without memory it is as if nothing were known. */
static inline void process_kin_put_thread(struct process_kin *k, int32_t tid, int32_t tgid)
{
	(void)process_map_set(&k->map, tid, tgid);
}

static inline void process_kin_put_process(struct process_kin *k, int32_t pid, int32_t ppid)
{
	(void)process_map_set(&k->map, pid, -1 - ppid);
}

static inline void process_kin_forget(struct process_kin *k, int32_t tid)
{
	(void)process_map_set(&k->map, tid, 0);
}

/* The process of a task, which may be its leader; 0: not known. */
static inline int32_t process_kin_tgid(const struct process_kin *k, int32_t tid)
{
	int32_t v = process_map_get(&k->map, tid);

	return v < 0 ? tid : v;
}

/* The parent of a process, or PROCESS_KIN_NO_PARENT. */
static inline int32_t process_kin_parent(const struct process_kin *k, int32_t pid)
{
	int32_t v = process_map_get(&k->map, pid);

	return v < 0 ? -1 - v : PROCESS_KIN_NO_PARENT;
}

/*
 * When tasks ended, of those whose end was heard and no later begin of the same number. Zero-initialise.
 * A time has two maps, as the values of one are 31 bits and a sign.
 */
struct process_ends {
	struct process_map high, low;
};

/* ns: CLOCK_BOOTTIME; 0: it has not ended. Without memory it is as if nothing were heard. */
static inline void process_ends_put(struct process_ends *e, int32_t tid, uint64_t ns)
{
	if (process_map_set(&e->low, tid, (int32_t)(ns & INT32_MAX)) < 0)
		ns = 0;
	(void)process_map_set(&e->high, tid, (int32_t)(ns >> 31));
}

/* 0: not heard. Ends in the first two seconds after the boot are not known. */
static inline uint64_t process_ends_get(const struct process_ends *e, int32_t tid)
{
	uint64_t high = (uint64_t)process_map_get(&e->high, tid);

	return high ? high << 31 | (uint64_t)process_map_get(&e->low, tid) : 0;
}

static inline void process_ends_clear(struct process_ends *e)
{
	process_map_clear(&e->high);
	process_map_clear(&e->low);
}
