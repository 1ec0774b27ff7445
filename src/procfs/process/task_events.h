/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_loop/time_slice.h"
#include "client/producer/metadata_bus.h"
#include "procfs/process/process_tree.h"

/*
 * A FIFO queue of task states that events reported. Events of one task are merged into one entry.
 * If the id is reused, the new task gets its own entry and the old entry is closed.
 */

/* With more entries, or more bytes of file names, than this, the oldest entry is written without
 * reading the task's files. Nothing is dropped. */
#define TASK_EVENTS_MANY (1u << 15)
#define TASK_EVENTS_MANY_TEXT (1u << 20)
/* Above these limits, adding an entry writes the oldest entry first. They are larger than what the
 * kernel reports at a time. */
#define TASK_EVENTS_MAX (1u << 18) /* limit of the list; an event has 64 bytes */
#define TASK_EVENTS_TEXT_MAX (8u << 20)

/* Zero-initialise. */
struct task_events {
	struct task_state *entries; /* owned; [next, n) wait */
	size_t next;
	size_t n;
	size_t cap;
	uint32_t base; /* the entry at index i has the serial number base + i + 1 */
	size_t text; /* bytes of file names */
};

void task_events_deinit(struct task_events *q);
/* Adds the event. Call it in order of time; a NEW event that is older than the entry of its task is
 * merged into that entry. If memory runs out, the event is lost. t->tasks shows immediately that
 * the task started or exited, and that a poll need not wait for its report. */
void task_events_add(struct task_events *q, struct process_tree *t, const struct metadata_task *e);
/* Writes entries until the time slice is over (returns true) or the queue is empty (returns false),
 * but at least one. */
bool task_events_write_all(struct task_events *q, struct process_tree *t,
			   const struct time_slice *slice);
static inline bool task_events_is_empty(const struct task_events *q)
{
	return q->next == q->n;
}
