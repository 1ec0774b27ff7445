/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ftrace/cpu_reader.h"

struct event_base;

/*
 * When the rings of a session are read: at every tick, and to the end when somebody wants all of
 * it. Work is done in turns of bounded length; between two turns the loop serves everybody else.
 *
 * Ticks fall on multiples of the period, so that several sessions and programs wake up together.
 */
struct drain;

#define DRAIN_CPU_PAGES 64 /* of one CPU in a row: two bundles */
#define DRAIN_TURN_PAGES 256 /* of all CPUs in a turn */

struct drain_ops {
	void (*before_turn)(void *ctx);
	void (*after_turn)(void *ctx);
	/* Everything that was in the rings when drain_all was called last has been translated. May
	 * call drain_halt, but not free the drain. */
	void (*all_read)(void *ctx);
};

struct drain_options {
	struct event_base *loop;
	struct cpu_readers *readers; /* borrowed; none opened: there is nothing to read */
	struct translator *translator; /* borrowed; may be NULL when there are no readers */
	uint32_t period_ms;
	const struct drain_ops *ops; /* borrowed */
	void *ctx;
};

/* 0 or -ENOMEM. Nothing happens before drain_start. */
int drain_new(const struct drain_options *options, struct drain **ret);
/* NULL is fine. */
struct drain *drain_free(struct drain *d);

/* Ticks begin. */
void drain_start(struct drain *d);
/* Reads to the end, beginning with the next turn of the loop; all_read tells when. */
void drain_all(struct drain *d);
/* No more ticks and turns. */
void drain_halt(struct drain *d);
