/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The tasks of a folder, by number: those of /proc, or the threads in /proc/PID/task. May stay open
 * between turns; the kernel's order is by number, so the walk goes on where it was, whoever has come
 * or gone.
 */

#define PROC_LIST_BYTES (2u << 10) /* some 80 names at a time: the kernel makes an inode for each */

/* Zero-initialise. */
struct proc_list {
	bool open;
	int fd; /* owned while open; files of the tasks can be opened relative to it */
	int32_t pid; /* whose threads, or 0 */
	uint32_t expected; /* with that many tasks it is at its end; 0: not known */
	uint32_t n; /* tasks so far */
	bool skipped; /* the first of them, which is the leader */
	uint32_t at;
	uint32_t end; /* what is left of names is [at, end) */
	_Alignas(8) char names[PROC_LIST_BYTES];
};

/* root: of /proc. pid 0: all processes. 0 or -errno. */
int proc_list_open(struct proc_list *l, int root, int32_t pid);
/* Of an open list of threads, before the first: so many there are, and the leader is of no interest.
 * It may come all the same, and so may threads that have come before. */
void proc_list_expect(struct proc_list *l, uint32_t threads);
/* The next task in the kernel's order; false at the end. */
bool proc_list_next(struct proc_list *l, int32_t *ret_tid);
/* Also of one that is not open. */
void proc_list_close(struct proc_list *l);
static inline bool proc_list_is_open(const struct proc_list *l)
{
	return l->open;
}
