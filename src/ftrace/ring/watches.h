/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "ftrace/ring/cpu_reader.h"

struct event_base;

/*
 * Wakes us up when the ring of a CPU is so full as the instance's buffer_percent says: poll(2) of
 * trace_pipe_raw, one watch for each ring.
 *
 * A watch tells once and is off then, until it is armed after its ring has been read: what stays
 * readable, whatever we do, must not keep the loop busy.
 */
struct watches;

/* wake may be called for several rings in a row. 0 or -ENOMEM. */
int watches_new(struct event_base *loop, const struct cpu_readers *readers,
		void (*wake)(void *ctx, struct cpu_reader *cpu), void *ctx, struct watches **ret);
/* Before the rings are closed. NULL is fine. */
struct watches *watches_free(struct watches *w);

/*
 * After a pass over all rings: arms every watch. After one over the rings that woke us: those of
 * them that had anything to say; the others (an option of the instance that makes poll always say
 * yes, a ring that is gone) wait for the next pass over all.
 */
void watches_arm(struct watches *w, bool all);
void watches_disarm(struct watches *w);

/* Does poll of these rings, in which nothing is, wait? False: this kernel's does not. */
bool watches_can(const struct cpu_readers *readers);
