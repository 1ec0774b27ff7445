/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/ring/cpu_reader.h"

struct event_base;

/*
 * When the rings of an instance are read: at every tick; to the end when somebody wants all of it;
 * those that have come to the watermark at once, when there is one. Work is done in turns of
 * bounded length; between two turns the loop serves everybody else.
 *
 * Ticks fall on multiples of the period, so that several sessions and programs wake up together.
 */
struct ring_poll;

/* A sub-buffer that is larger is read all the same. */
#define RING_POLL_CPU_BYTES (2 * BUNDLE_MAX_BYTES) /* of one CPU in a row */
#define RING_POLL_SLICE_BYTES (4 * RING_POLL_CPU_BYTES) /* of all CPUs in a turn */

/* Each of them may call any function of the drain, ring_poll_free too. */
struct ring_poll_ops {
	void (*before_slice)(void *ctx);
	/* Who gets the records of the CPU with this place in the readers. */
	unsigned (*takers)(void *ctx, unsigned cpu, struct page_encode_target **ret);
	void (*after_slice)(void *ctx);
	/* A pass to the end is over: ring_poll_passes has grown. */
	void (*pass_over)(void *ctx);
};

struct ring_poll_options {
	struct event_base *loop;
	struct cpu_readers *readers; /* borrowed; one or more are open */
	const struct ring_poll_ops *ops; /* borrowed */
	void *ctx;
};

/* 0 or -ENOMEM. Nothing happens before a period is set. */
int ring_poll_new(const struct ring_poll_options *options, struct ring_poll **ret);
/* NULL is fine. */
struct ring_poll *ring_poll_free(struct ring_poll *d);

/* Ticks come so often from now on; 0: no more ticks and turns. */
void ring_poll_set_period(struct ring_poll *d, uint32_t ms);

/* Watches the rings' watermark from now on, or no longer; ring_poll_can_watch has said yes. */
void ring_poll_set_watching(struct ring_poll *d, bool yes);
/* Makes it ready to: 0, -EOPNOTSUPP when this kernel's rings cannot be watched, -ENOMEM. Nothing is
 * in the rings yet, or records into them. */
int ring_poll_can_watch(struct ring_poll *d);

/*
 * Reads to the end, beginning with a later turn of the loop. Gives the number of the pass that will
 * have read all that is in the rings now: wait until ring_poll_passes has come so far. That takes no
 * longer than the pass that is on, if there is one, and another. A period is set.
 */
uint64_t ring_poll_read_all(struct ring_poll *d);
/* How many passes to the end are over. */
uint64_t ring_poll_passes(const struct ring_poll *d);
/* When the pass over all rings that is on began, in ns of CLOCK_BOOTTIME; UINT64_MAX: none is. */
uint64_t ring_poll_pass_start(const struct ring_poll *d);
/* After a turn: is such a pass on, and through with every ring? All that happened before it began,
 * at *ret_boot_ns, has been translated then. */
bool ring_poll_read_until(const struct ring_poll *d, uint64_t *ret_boot_ns);
