/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "wire/pb_read.h"

/*
 * Conversion between the clocks of one machine. A snapshot has readings of several clocks at one
 * moment. A time is converted with the last snapshot before it that has both clocks, or else with
 * their first one; nothing is interpolated. If no snapshot has both clocks, the time is converted
 * through as few other clocks as possible.
 */

#define CLOCK_REALTIME_ID 1u /* BuiltinClock */
#define CLOCK_MONOTONIC_ID 3u
#define CLOCK_MONOTONIC_RAW_ID 5u
#define CLOCK_BOOTTIME_ID 6u
#define CLOCK_SEQUENCE_FIRST 64u /* ids 64 to 127: clocks of one sequence */
#define CLOCK_SEQUENCE_END 128u

/* A clock: its id in the lower half; for ids 64 to 127 the sequence in the upper half. */
typedef uint64_t clock_key;

static inline clock_key clock_make_key(uint32_t id, uint32_t sequence)
{
	return id >= CLOCK_SEQUENCE_FIRST && id < CLOCK_SEQUENCE_END ? (uint64_t)sequence << 32 | id
								     : id;
}

struct clock_reading {
	clock_key clock;
	int64_t value; /* in units of `unit` */
	int64_t unit; /* ns */
	bool incremental; /* times of the clock are differences from the previous time */
};

/* Reads a ClockSnapshot.Clock. sequence: of the packet that has it. */
struct clock_reading clock_reading_read(const struct pb_field *clock, uint32_t sequence);

struct clock_edge;
struct clock_node;

/* How many clocks a machine can have: in all, and without those of sequences. Times of further
 * clocks are not converted. */
#define CLOCKS_MAX 65000u
#define CLOCKS_WIDE_MAX 256u

struct clocks {
	struct store *store;
	clock_key trace; /* the trace clock, to which times are converted */
	bool has_trace; /* a time of the trace clock was used: the clock cannot change any more */
	bool is_default; /* times without a clock are of the trace clock: a snapshot named it */
	int64_t ahead; /* ns by which the trace clock is ahead of that of the service's machine */
	uint32_t n_snapshots;
	struct clock_node *by_key; /* owned hash */
	struct clock_node **nodes; /* owned; by number */
	size_t n_nodes, cap_nodes;
	struct clock_edge *by_ends; /* owned hash */
	struct clock_node *wide[CLOCKS_WIDE_MAX]; /* borrowed: the clocks outside of sequences */
	size_t n_wide;
};

void clocks_init(struct clocks *c, struct store *store);
void clocks_deinit(struct clocks *c);

/* Adds a snapshot. Returns its number, or -1 if it contradicts itself or others, has too many
 * clocks, or memory runs out. */
int64_t clocks_add_snapshot(struct clocks *c, const struct clock_reading *readings, size_t n);

enum clock_result { CLOCK_CONVERTED, CLOCK_UNKNOWN_SOURCE, CLOCK_UNKNOWN_TARGET, CLOCK_NO_PATH };

/* Reads a RemoteClockSync: adds the machine's readings as snapshots, and sets c->ahead. Returns the
 * number of snapshots that clocks_add_snapshot() refused. */
unsigned clocks_read_remote_sync(struct clocks *c, const struct pb_field *sync);

/* Converts a time of a clock, in the clock's unit, to ns of the machine's own trace clock. Sets
 * *ret only if it returns CLOCK_CONVERTED. In that case a time of an incremental clock also moves
 * that clock forward. */
enum clock_result clocks_convert(struct clocks *c, clock_key from, int64_t ts, int64_t *ret);

/* Converts a time of this machine's trace clock to that of the service's machine, both in ns. */
static inline int64_t clocks_to_service_time(const struct clocks *c, int64_t ts)
{
	return (int64_t)((uint64_t)ts - (uint64_t)c->ahead);
}

/* Counts a time that clocks_convert() did not convert, by its reason. */
void clocks_count_failure(struct clocks *c, enum clock_result reason);
/* Converts a time of a clock to ns of the trace clock of the service's machine. Returns false, and
 * counts it, if that is not possible. */
bool clocks_to_trace_time(struct clocks *c, clock_key from, int64_t ts, int64_t *ret);

/* Returns the name of a clock of BuiltinClock, in static memory, or NULL. */
const char *clock_name(uint32_t id);
