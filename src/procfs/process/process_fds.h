/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/producer/metadata_bus.h"
#include "procfs/process/process_names.h"
#include "base/event_loop/time_slice.h"

/*
 * File descriptors that the kernel's events saw being made: reads what they lead to, and writes it
 * as rows of ProcessStats, each once for as long as it leads to the same, in the same program.
 */

/* That many wait at most, and so many are remembered; past that the rest is dropped, or everything
 * is told again. */
#define PROCESS_FDS_MAX (1u << 16)

/* Of one that was told. */
struct process_fd_told {
	int32_t pid; /* 0: an empty place */
	int32_t fd;
	uint32_t hash; /* of the path, and of the life that the process was in */
};

/* Zero-initialise. */
struct process_fds {
	struct metadata_fd *waiting; /* owned; [next, n) wait */
	size_t next;
	size_t n;
	size_t cap;
	uint64_t dropped;
	struct process_fd_told *told; /* owned; a hash table, never more than half full */
	size_t n_told;
	size_t told_cap; /* a power of two, or 0 */
	int32_t written; /* the process of the latest row */
	struct process_map lives; /* how often a process was renewed */
};

void process_fds_deinit(struct process_fds *f);
void process_fds_add(struct process_fds *f, const struct metadata_fd *fd);
/* Goes on until the turn is over (true) or none waits (false). At least one a turn. */
bool process_fds_run(struct process_fds *f, struct process_names *n, const struct time_slice *turn);
/* The number is another process', or it runs another program: its files are told again. */
void process_fds_renew(struct process_fds *f, int32_t pid);
/* All are told again when they are seen again. */
void process_fds_clear(struct process_fds *f);
static inline bool process_fds_is_empty(const struct process_fds *f)
{
	return f->next == f->n;
}
