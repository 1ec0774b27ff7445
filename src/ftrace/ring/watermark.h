/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/tracefs/instance.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/ring/ring.h"

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
		      struct ring_listener *l, struct reports *reports);

/* Does a kernel of this release wake those who poll a ring at its watermark? From 6.9 on; before,
 * it could miss to. */
bool watermark_kernel_can(const char *release);

/* The percent to write for a ring of so many sub-buffers: the least that the kernel can tell from
 * nothing, if that is more. Above 100: none can. */
uint32_t watermark_least(uint32_t percent, uint32_t subbufs);
