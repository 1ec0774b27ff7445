/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/process_writer.h"
#include "procfs/process/pid_map.h"
#include "base/event_loop/time_slice.h"
#include "client/producer/metadata_bus.h"

/*
 * Task numbers that wait to be described, first come first served, each once. Short-lived tasks end
 * while they wait: then there is nothing to describe.
 */

/* Past this many the rest is dropped: what runs on comes again with the next event. */
#define PROCESS_QUEUE_MAX (1u << 16)

/* Zero-initialise. */
struct process_queue {
	int32_t *tids; /* owned; [next, n) wait */
	size_t next;
	size_t n;
	size_t cap;
	struct pid_set waiting;
};

void process_queue_deinit(struct process_queue *q);
void process_queue_add(struct process_queue *q, int32_t tid);
/* Goes on until the turn is over (true) or the queue is empty (false). At least one task a turn. */
bool process_queue_run(struct process_queue *q, struct process_writer *n,
		       const struct time_slice *turn);
static inline bool process_queue_is_empty(const struct process_queue *q)
{
	return q->next == q->n;
}

/*
 * What the kernel's events say of tasks, until it is their turn to be described, first come first
 * served. All that is said of one task meanwhile is one entry; a task with a number that another one
 * had begins an entry of its own, and so the older one is closed.
 */

/* While more wait than so many entries, or bytes of file names, the oldest is closed when its turn
 * comes: it is written as it was heard, without a look at its files. Nothing is dropped. */
#define PROCESS_EVENTS_MANY (1u << 15)
#define PROCESS_EVENTS_MANY_TEXT (1u << 20)
/* Past these whoever adds one waits while the oldest is written. More than the kernel's events tell
 * of at a time. */
#define PROCESS_EVENTS_MAX (1u << 18) /* of 64 bytes */
#define PROCESS_EVENTS_TEXT_MAX (8u << 20)

/* Zero-initialise. */
struct process_events {
	struct task_state *entries; /* owned; [next, n) wait */
	size_t next;
	size_t n;
	size_t cap;
	uint32_t base; /* the entry at index i has the number base + i + 1 */
	struct pid_map number_of; /* by task: that of its entry; of no meaning if it has gone */
	size_t text; /* bytes of file names */
};

void process_events_deinit(struct process_events *q);
/* In order of time. */
void process_events_add(struct process_events *q, struct process_writer *n,
			const struct metadata_task *t);
/* Goes on until the turn is over (true) or there are none (false). At least one entry a turn. */
bool process_events_run(struct process_events *q, struct process_writer *n,
			const struct time_slice *turn);
static inline bool process_events_is_empty(const struct process_events *q)
{
	return q->next == q->n;
}

/*
 * File descriptors that the kernel's events saw being made: reads what they lead to, and writes it
 * as rows of ProcessStats, each once for as long as it leads to the same, in the same program.
 */

/* That many wait at most, and so many are remembered; past that the rest is dropped, or everything
 * is told again. */
#define PROCESS_FDS_MAX (1u << 16)

/* Of one that was told. */
struct process_fd_entry {
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
	struct process_fd_entry *told; /* owned; a hash table, never more than half full */
	size_t n_told;
	size_t told_cap; /* a power of two, or 0 */
	int32_t written; /* the process of the latest row */
	struct pid_map lives; /* how often a process was renewed */
};

void process_fds_deinit(struct process_fds *f);
void process_fds_add(struct process_fds *f, const struct metadata_fd *fd);
/* Goes on until the turn is over (true) or none waits (false). At least one a turn. */
bool process_fds_run(struct process_fds *f, struct process_writer *n,
		     const struct time_slice *turn);
/* The number is another process', or it runs another program: its files are told again. */
void process_fds_renew(struct process_fds *f, int32_t pid);
/* All are told again when they are seen again. */
void process_fds_clear(struct process_fds *f);
static inline bool process_fds_is_empty(const struct process_fds *f)
{
	return f->next == f->n;
}
