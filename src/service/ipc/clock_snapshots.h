/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Readings of all clocks at one moment, kept until they are written into the trace. Readers of the
 * trace convert between clocks with them.
 */

/* BOOTTIME, REALTIME_COARSE, MONOTONIC_COARSE, REALTIME, MONOTONIC, MONOTONIC_RAW, and the TSC
 * where there is one. */
#define CLOCK_SNAPSHOT_MAX_CLOCKS 7
#define CLOCK_SNAPSHOT_RING 16
#define CLOCK_SNAPSHOT_MIN_DRIFT_NS 10000000u

struct clock_snapshot {
	uint64_t value[CLOCK_SNAPSHOT_MAX_CLOCKS]; /* in the order above; ns, the TSC in ticks */
};

struct clock_snapshots {
	bool has_initial;
	struct clock_snapshot initial; /* snapshot at the start of the session */
	struct clock_snapshot ring[CLOCK_SNAPSHOT_RING]; /* the oldest first */
	size_t n;
};

/* Returns the number of clocks of this machine. */
size_t clock_snapshot_n_clocks(void);
/* Returns the BuiltinClock id of clock i. */
uint32_t clock_snapshot_clock_id(size_t i);

void clock_snapshot_take(struct clock_snapshot *ret);
#define CLOCK_SNAPSHOT_BOOTTIME 0 /* index of value */
#define CLOCK_SNAPSHOT_REALTIME 3

/* Adds a snapshot to the ring if a clock has drifted against CLOCK_BOOTTIME by
 * CLOCK_SNAPSHOT_MIN_DRIFT_NS since the newest one (of the ring, else the initial one), or if there
 * is none. A full ring drops its oldest one. */
void clock_snapshots_add(struct clock_snapshots *c, const struct clock_snapshot *now);
void clock_snapshots_clear(struct clock_snapshots *c);
