/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/producer/metadata_bus.h"
#include "procfs/process/pid_map.h"
#include "procfs/process/process_names.h"
#include "base/event_loop/time_slice.h"

/*
 * What the kernel's events say of tasks, until it is their turn to be described, first come first
 * served. All that is said of one task meanwhile is one entry; a task with a number that another one
 * had begins an entry of its own, and so the older one is closed.
 */

/* While more wait than so many entries, or bytes of file names, the oldest is closed when its turn
 * comes: it is written as it was heard, without a look at its files. Nothing is dropped. */
#define PROCESS_NEWS_MANY (1u << 15)
#define PROCESS_NEWS_MANY_TEXT (1u << 20)
/* Past these whoever adds one waits while the oldest is written. More than the kernel's events tell
 * of at a time. */
#define PROCESS_NEWS_MAX (1u << 18) /* of 64 bytes */
#define PROCESS_NEWS_TEXT_MAX (8u << 20)

/* Zero-initialise. */
struct process_news {
	struct task_heard *entries; /* owned; [next, n) wait */
	size_t next;
	size_t n;
	size_t cap;
	uint32_t base; /* the entry at index i has the number base + i + 1 */
	struct process_map number_of; /* by task: that of its entry; of no meaning if it has gone */
	size_t text; /* bytes of file names */
};

void process_news_deinit(struct process_news *q);
/* In order of time. */
void process_news_add(struct process_news *q, struct process_names *n,
		      const struct metadata_task *t);
/* Goes on until the turn is over (true) or there are none (false). At least one entry a turn. */
bool process_news_run(struct process_news *q, struct process_names *n,
		      const struct time_slice *turn);
static inline bool process_news_is_empty(const struct process_news *q)
{
	return q->next == q->n;
}
