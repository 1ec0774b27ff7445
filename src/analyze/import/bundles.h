/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/import/clocks.h"

/* FtraceEventBundle: the events of a CPU, each in a message of its own or as a row of columns
 * (CompactSched). Fields point into the bundle. */
struct bundle_head {
	struct pb_field cpu, previous_end, columns, descriptors; /* id 0: none */
	uint64_t clock; /* FtraceClock */
	uint64_t ftrace_ns, boot_ns; /* readings of both clocks at one moment; 0: none */
	bool lost; /* events are missing before the bundle */
};

void bundle_head_read(const struct pb_field *bundle, struct bundle_head *ret);

/* Returns the clock of the bundle's times, and adds the bundle's reading of it to the clocks. */
clock_key bundle_sync_clock(const struct bundle_head *h, uint32_t sequence, struct clocks *c);

/* Reads the time of a FtraceEvent, in the clock of its bundle. Returns false if it has none. */
bool bundle_event_time(const struct pb_field *event, uint64_t *ret);

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
