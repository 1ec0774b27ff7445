/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* root: descriptor of /proc. pid 0: lists all processes. Returns 0 or -errno. */
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
