/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/ring/cpu_reader.h"

#define RING_POLL_NEVER UINT32_MAX /* a period without ticks: only ring_poll_read_all() reads */

struct event_base;

/*
 * Schedules the reading of an instance's rings: all at every tick; to the end for a flush; those
 * that reach the watermark immediately, if there is one. Work is done in time slices; the loop
 * serves its other events in between.
 *
 * Ticks are aligned to multiples of the period, so that several sessions and programs wake up
 * together.
 */
struct ring_poll;

/* In bytes. A sub-buffer that is larger than a limit is still read as a whole. */
#define RING_POLL_CPU_BYTES (2 * BUNDLE_MAX_BYTES) /* read from one CPU in a row */
#define RING_POLL_SLICE_BYTES (4 * RING_POLL_CPU_BYTES) /* read from all CPUs in a slice */

/* Each callback may call any function of the poll, including ring_poll_free. */
struct ring_poll_ops {
	void (*before_slice)(void *ctx);
	/* Returns the targets for records of a CPU, given by its index in the readers. */
	unsigned (*targets)(void *ctx, unsigned cpu, struct page_encode_target **ret);
	void (*after_slice)(void *ctx);
	/* Called when a pass to the end is over: ring_poll_count_finished_passes() has
	 * increased. */
	void (*pass_over)(void *ctx);
};

struct ring_poll_options {
	struct event_base *loop;
	struct cpu_readers *readers; /* borrowed; at least one is open */
	const struct ring_poll_ops *ops; /* borrowed */
	void *ctx;
	bool runs_last; /* slices wait until nothing else is to be done on the loop */
};

/* Allocates a poll, which does nothing until a period is set. Returns 0 or -ENOMEM. */
int ring_poll_new(const struct ring_poll_options *options, struct ring_poll **ret);
/* NULL is allowed. */
struct ring_poll *ring_poll_free(struct ring_poll *d);

/* Sets the period of ticks; 0: no ticks and no slices. */
void ring_poll_set_period(struct ring_poll *d, uint32_t ms);

/* Starts or stops watching the watermark; requires ring_poll_prepare_watch. */
void ring_poll_set_watching(struct ring_poll *d, bool yes);
/* Prepares watching. Returns 0, -EOPNOTSUPP if this kernel's rings cannot be watched, or -ENOMEM.
 * The rings must be empty and not recording. */
int ring_poll_prepare_watch(struct ring_poll *d);

/* Reads all records in later iterations of the loop. Returns the number of the pass that will have
 * read everything that is in the rings now: wait until ring_poll_count_finished_passes reaches it.
 * That takes at most the current pass and another one. Requires a period. */
uint64_t ring_poll_read_all(struct ring_poll *d);
/* Returns how many passes to the end are over. */
uint64_t ring_poll_count_finished_passes(const struct ring_poll *d);
/* Returns when the current pass over all rings began, in ns of CLOCK_BOOTTIME, or UINT64_MAX if
 * there is none. */
uint64_t ring_poll_pass_start(const struct ring_poll *d);
/* Call it after a slice. Returns true if the current pass covers all rings and every ring is done:
 * all records from before *ret_boot_ns, when it began, have been encoded. */
bool ring_poll_pass_is_done(const struct ring_poll *d, uint64_t *ret_boot_ns);
