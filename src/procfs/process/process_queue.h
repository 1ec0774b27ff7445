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
 * A FIFO queue of task ids to be described, each at most once. A task that exits while it waits is
 * skipped.
 */

/* Further ids are dropped; a task that keeps running is reported again by the next event. */
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
/*
 * Runs until the time slice is over (returns true) or the queue is empty (returns false). It serves
 * at least one task.
 */
bool process_queue_run(struct process_queue *q, struct process_writer *n,
		       const struct time_slice *slice);
static inline bool process_queue_is_empty(const struct process_queue *q)
{
	return q->next == q->n;
}

/*
 * A FIFO queue of task states that events reported. Events of one task are merged into one entry.
 * If the id is reused, the new task gets its own entry and the old entry is closed.
 */

/*
 * Above these numbers of entries, or of bytes of file names, the oldest entry is closed when it is
 * served: it is written without reading its files. Nothing is dropped.
 */
#define PROCESS_EVENTS_MANY (1u << 15)
#define PROCESS_EVENTS_MANY_TEXT (1u << 20)
/*
 * Above these limits, adding an entry writes the oldest entry first. They are larger than what the
 * kernel reports at a time.
 */
#define PROCESS_EVENTS_MAX (1u << 18) /* of 64 bytes */
#define PROCESS_EVENTS_TEXT_MAX (8u << 20)

/* Zero-initialise. */
struct process_events {
	struct task_state *entries; /* owned; [next, n) wait */
	size_t next;
	size_t n;
	size_t cap;
	uint32_t base; /* the entry at index i has the serial number base + i + 1 */
	struct pid_map number_of; /* serial number of each task's entry; stale if that is gone */
	size_t text; /* bytes of file names */
};

void process_events_deinit(struct process_events *q);
/*
 * Adds the event. Call it in order of time; a NEW event that is older than the entry of its task is
 * merged into that entry. If memory runs out, the event is lost.
 */
void process_events_add(struct process_events *q, struct process_writer *n,
			const struct metadata_task *t);
/*
 * Runs until the time slice is over (returns true) or the queue is empty (returns false). It serves
 * at least one entry.
 */
bool process_events_run(struct process_events *q, struct process_writer *n,
			const struct time_slice *slice);
static inline bool process_events_is_empty(const struct process_events *q)
{
	return q->next == q->n;
}
