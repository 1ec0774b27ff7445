/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/budget.h"

/*
 * Sorts the events of a trace by time. Each stream of events, which arrive nearly sorted, has a
 * queue. A queue that is not sorted is sorted by merging its runs; then all queues are merged.
 * Events of equal times keep the order of the file within a queue. Between queues their order is
 * that of trace_processor: the queue with the earliest event (if there are several, the one with
 * the lowest number) releases all of its events that are not later than the earliest event of any
 * other queue.
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
	int64_t ts; /* ns */
	union {
		const uint8_t *data; /* PACKETS, TRACK_EVENTS: a packet; FTRACE: a FtraceEvent */
		struct {
			uint32_t comm; /* a string; of the thread that runs next or is woken */
			int32_t tid;
		};
	};
	uint32_t a; /* length of data; SWITCH: next_prio; WAKING: prio */
	uint32_t b; /* sequence's state or NULL_U32; SWITCH: prev_state; WAKING: cpu, flags << 16 */
};

struct event_chunk;

struct event_queue {
	enum queue_kind kind;
	uint32_t machine, cpu;
	struct event_chunk *first, *last; /* owned */
	size_t at; /* index in the first chunk of the next event to release */
	int64_t last_ts;
	bool unsorted;
};

struct event_queues {
	struct budget *budget;
	struct event_queue *queues; /* owned, in the order of their creation */
	size_t n, cap;
	uint32_t *heap; /* owned: queues with events, the earliest first */
	size_t n_heap;
	int64_t latest; /* ns, time of the latest event that was added; INT64_MIN: none */
	uint64_t n_released; /* events */
};

typedef void (*queue_release_fn)(void *ctx, const struct event_queue *q,
				 const struct queued_event *e);

void event_queues_init(struct event_queues *qs, struct budget *budget);
void event_queues_deinit(struct event_queues *qs);

/* Makes a queue and returns its number. If out of memory, sets the budget's error and returns 0. */
uint32_t event_queues_add_queue(struct event_queues *qs, enum queue_kind kind, uint32_t machine,
				uint32_t cpu);

/* Adds a copy of the event; e->data is borrowed. If out of memory, sets the budget's error. */
void event_queues_add_event(struct event_queues *qs, uint32_t queue, const struct queued_event *e);

/* Calls fn for all events in the order of time, and frees them. Ends early at a budget's error. */
void event_queues_drain(struct event_queues *qs, queue_release_fn fn, void *ctx);
