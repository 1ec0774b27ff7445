/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdbool.h>

#include "ftrace/tracefs/instance.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/ring/ring.h"

/*
 * How large the rings of an instance are, and their sub-buffers: the pieces that a ring consists
 * of, is overwritten by, and is read by. Large ones cost fewer system calls for the same events;
 * but a ring has to have some, as the one that is written to is not read whole, and the kernel has
 * to find memory in a row for each: up to 32 KiB is what it does readily.
 */
#define RING_SUBBUF_KB 32u /* the largest, unless the config asks for one */
#define RING_MIN_SUBBUFS 16u /* the fewest in a ring, with the same exception */

#define RING_STEP_KB (128u << 10) /* of all CPUs: rings grow and shrink by so much at a time */
#define RING_SMALL_KB 1024u

/* The size to choose for rings of so much: a power of two, a page of the machine or more.
 * watermark: drain_buffer_percent, 0 is none. */
uint32_t ring_size_choose(uint32_t buffer_kb, uint32_t watermark, uint32_t page_kb);

/*
 * Gives an instance, in which nothing is recorded yet, the sizes of the settings. Where memory does
 * not suffice, sub-buffers become smaller, then rings. What differs from the config is reported.
 * Gives KiB of a ring as the kernel was asked for it; 0: it has not been read, nor set.
 */
uint32_t ring_size_set(const struct instance *i, const struct ftrace_settings *s,
		       struct setup_errors *errors);

/*
 * Before an instance is removed or given back, and when all is read: makes small what was set, in
 * steps. A ring in which sub-buffers get their old size is made anew by the kernel, as large as it
 * is: seconds for gigabytes.
 */
void ring_size_release(const struct instance *i);

/* KiB of a ring as the kernel made it, of the largest: at least what was asked for, and some for the
 * reader. 0 when that cannot be read. */
uint32_t ring_size_kb(const struct instance *i);
/* KiB of a sub-buffer; a page's where the kernel has no other (before 6.8). */
uint32_t ring_size_subbuf_kb(const struct instance *i);

/*
 * The rings wake us when they are so full, and ticks are rare: reading a ring that has little in it
 * costs several times as much an event as one with many whole sub-buffers. So it is when nothing is
 * asked for, too; with a drain_period_ms alone the rings are read by the clock. The preset leaves
 * three quarters of a ring for what comes in until we run.
 */
#define WATERMARK_PRESET 25u

/*
 * Makes a listener of the session's own instance watch, as far as the kernel can. The rings have
 * their sizes and record nothing yet; the listener is open and has its period. What was asked for
 * and cannot be had is reported; then there are ticks as ever.
 */
void watermark_set_up(const struct instance *i, const struct ftrace_settings *s,
		      struct ring_listener *l, struct setup_errors *errors);

/* Does a kernel of this release wake those who poll a ring at its watermark? From 6.9 on; before,
 * it could miss to. */
bool watermark_kernel_can(const char *release);

/* The percent to write for a ring of so many sub-buffers: the least that the kernel can tell from
 * nothing, if that is more. Above 100: none can. */
uint32_t watermark_least(uint32_t percent, uint32_t subbufs);
