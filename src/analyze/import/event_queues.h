/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/budget.h"

/*
 * Sorts the events of a trace by time. Each stream of events has a queue: it arrives nearly sorted.
 * A queue that is not sorted is sorted by merging its runs; then all queues are merged. Equal times
 * keep the order of the file within a queue; between queues the order is that of trace_processor:
 *
 *	the queue with the earliest event, the lowest queue of equals, releases all of its events that are not
 *	later than the earliest one of any other queue
 */

enum queue_kind {
	QUEUE_PACKETS,
	QUEUE_TRACK_EVENTS,
	QUEUE_FTRACE,
	QUEUE_SWITCH, /* compact sched_switch */
	QUEUE_WAKING, /* compact sched_waking */
	QUEUE_KINDS
};

struct queued_event {
	int64_t ts;
	union {
		const uint8_t *data; /* PACKETS, TRACK_EVENTS: a packet; FTRACE: a FtraceEvent */
		struct {
			uint32_t comm; /* SWITCH: of the next thread; WAKING: of the woken one */
			int32_t tid;
		};
	};
	uint32_t a; /* length of data; SWITCH: next_prio; WAKING: prio */
	uint32_t b; /* the sequence's state; SWITCH: prev_state; WAKING: cpu, flags << 16 */
};

struct event_chunk;

struct event_queue {
	enum queue_kind kind;
	uint32_t machine, cpu;
	struct event_chunk *first, *last; /* owned */
	size_t at; /* of the first chunk */
	int64_t last_ts;
	bool unsorted;
};

struct event_queues {
	struct budget *budget;
	struct event_queue *queues; /* owned, in the order of their creation */
	size_t n, cap;
	uint32_t *heap; /* owned: queues with events, the earliest first */
	size_t n_heap;
	int64_t latest; /* of all events that were added */
	uint64_t n_released; /* events */
};

typedef void (*queue_release_fn)(void *ctx, const struct event_queue *q,
				 const struct queued_event *e);

void event_queues_init(struct event_queues *qs, struct budget *budget);
void event_queues_deinit(struct event_queues *qs);

/* Makes a queue; returns its number, or 0 without memory. */
uint32_t event_queues_new(struct event_queues *qs, enum queue_kind kind, uint32_t machine,
			  uint32_t cpu);

void event_queues_add(struct event_queues *qs, uint32_t queue, const struct queued_event *e);

/* Calls fn for all events by time, and frees them. Ends early at an error of the budget. */
void event_queues_release(struct event_queues *qs, queue_release_fn fn, void *ctx);
