/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procfs/process/process_map.h"

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
