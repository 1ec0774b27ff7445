/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/event_counts.h"
#include "wire/pb_read.h"

/*
 * Reads the events of a FtraceEventBundle (protos/trace/ftrace), the untrusted events of one CPU:
 *
 *	FtraceEventBundle   cpu | lost_events | event, event, ... | compact_sched | descriptors
 *	FtraceEvent         timestamp | pid | common_flags | one field whose number is the event
 *	CompactSched        packed arrays, a column for each field of a switch or of a waking: the
 *	                    first time is absolute, the others are distances to the one before
 */

/* A field of a bundle. The members after `raw` describe it if it is an event. */
struct bundle_field {
	struct pb_raw raw;
	uint32_t event; /* number of the field with its message in FtraceEvent; 0: none */
	bool valid; /* its bytes follow protobuf's rules */
	bool has_time;
	uint64_t ns; /* in the clock of the bundle */
};

/* Like pb_dec_next(): reads the next field of the bundle that d iterates. */
bool bundle_next(struct pb_dec *d, struct bundle_field *ret);

/* Counts the next events, as long as they have the plain form (bundle_walk.c), for a caller that
 * needs only their numbers and times: at a third less than bundle_next() costs. *ret_first and
 * *ret_last are their earliest and latest time in the clock of the bundle, 0: none. */
void bundle_count_plain_events(struct pb_dec *d, struct event_counts *counts, uint64_t *ret_first,
			       uint64_t *ret_last);

/* ---- CompactSched ---- */

struct compact_sum {
	uint64_t n; /* rows, or names */
	size_t bytes; /* of all their columns */
	uint64_t first_ns,
		last_ns; /* earliest and latest time at the ends of the columns; 0: none */
};

struct compact_sums {
	struct compact_sum switches, wakings, names;
};

/* Sums up a CompactSched without reading its rows. Returns false if it violates protobuf's rules;
 * *ret has what precedes the error. */
bool compact_sum_up(const struct pb_field *columns, struct compact_sums *ret);

/* Indexes in compact_rows.row: the columns of a switch, then those of a waking. */
enum { COMPACT_TIME, COMPACT_PREV_STATE, COMPACT_NEXT_PID, COMPACT_NEXT_PRIO, COMPACT_NEXT_COMM };
enum {
	COMPACT_PID = 1,
	COMPACT_TARGET_CPU,
	COMPACT_PRIO,
	COMPACT_COMM,
	COMPACT_FLAGS, /* may be missing: 0 */
	COMPACT_COLUMNS
};

struct compact_rows {
	const uint32_t *fields; /* by column: its number in CompactSched; 0: none */
	struct pb_packed in[COMPACT_COLUMNS];
	bool has_rows, has_flags;
	uint64_t row[COMPACT_COLUMNS]; /* the current one; its time is absolute, and may wrap */
};

/* Begin to read the rows of a CompactSched, which compact_next() reads one by one. */
void compact_begin_switches(const struct pb_field *columns, struct compact_rows *ret);
void compact_begin_wakings(const struct pb_field *columns, struct compact_rows *ret);
/* Reads the next row into r->row. Returns 1; 0 at the end; -1 if a column ends before the times. */
int compact_next(struct compact_rows *r);
