/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "wire/pb_dec.h"

/*
 * Conversion between the clocks of one machine, by snapshots: clocks that were read at one moment.
 * A time is converted by the last snapshot before it, over as few snapshots as there need to be.
 * Nothing is interpolated.
 */

#define CLOCK_MONOTONIC_ID 3u /* BuiltinClock */
#define CLOCK_MONOTONIC_RAW_ID 5u
#define CLOCK_BOOTTIME_ID 6u
#define CLOCK_SEQUENCE_FIRST 64u /* to 127: of one sequence */
#define CLOCK_SEQUENCE_END 128u

/* A clock: its number, and the sequence for 64 to 127. */
typedef uint64_t clock_key;

static inline clock_key clock_of(uint32_t id, uint32_t sequence)
{
	return id >= CLOCK_SEQUENCE_FIRST && id < CLOCK_SEQUENCE_END ? (uint64_t)sequence << 32 | id
								     : id;
}

struct clock_reading {
	clock_key clock;
	int64_t value; /* in units of unit */
	int64_t unit; /* ns */
	bool incremental;
};

/* Reads a ClockSnapshot.Clock. sequence: of its packet. */
struct clock_reading clock_reading_read(const struct pb_field *clock, uint32_t sequence);

struct clock_edge;
struct clock_node;

/* Different clocks of a machine, with those of its sequences and without; others are not
 * converted. */
#define CLOCKS_MAX 65000u
#define CLOCKS_WIDE_MAX 256u

struct clocks {
	struct store *store;
	clock_key trace; /* what everything is converted to */
	bool has_trace; /* a snapshot named it, or something was converted */
	bool assumed; /* it was converted before the first snapshot */
	bool is_default; /* of times without a clock: a snapshot says so */
	/* ns, of another machine: how far its trace clock is ahead of the service's */
	int64_t ahead;
	uint32_t n_snapshots;
	struct clock_node *by_key; /* owned hash */
	struct clock_node **nodes; /* by number */
	size_t n_nodes, cap_nodes;
	struct clock_edge *by_ends; /* owned hash */
	struct clock_node *wide[CLOCKS_WIDE_MAX]; /* those of no sequence */
	size_t n_wide;
};

void clocks_init(struct clocks *c, struct store *store);
void clocks_deinit(struct clocks *c);

/* Adds a snapshot. Returns its number, or -1 if it contradicts itself or others. */
int64_t clocks_snapshot(struct clocks *c, const struct clock_reading *readings, size_t n);

enum clock_result { CLOCK_CONVERTED, CLOCK_UNKNOWN_SOURCE, CLOCK_UNKNOWN_TARGET, CLOCK_NO_PATH };

/* Reads a RemoteClockSync: adds the machine's readings as snapshots, and sets how far it is ahead.
 * Returns the number of snapshots that contradict others. */
unsigned clocks_remote_sync(struct clocks *c, const struct pb_field *sync);

/* Converts a time of the clock to the machine's own trace clock. */
enum clock_result clocks_convert(struct clocks *c, clock_key from, int64_t ts, int64_t *ret);

/* Returns the time of the service's machine for one of this machine's trace clock. */
static inline int64_t clocks_trace_time(const struct clocks *c, int64_t ts)
{
	return (int64_t)((uint64_t)ts - (uint64_t)c->ahead);
}

/* The name of a clock with a number of BuiltinClock, or NULL. */
const char *clock_name(uint32_t id);
