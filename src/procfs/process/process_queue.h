/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/process_names.h"
#include "procfs/process/pid_map.h"
#include "base/event_loop/time_slice.h"

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
	struct process_seen waiting;
};

void process_queue_deinit(struct process_queue *q);
void process_queue_add(struct process_queue *q, int32_t tid);
/* Goes on until the turn is over (true) or the queue is empty (false). At least one task a turn. */
bool process_queue_run(struct process_queue *q, struct process_names *n,
		       const struct time_slice *turn);
static inline bool process_queue_is_empty(const struct process_queue *q)
{
	return q->next == q->n;
}
