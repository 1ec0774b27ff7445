/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/process_counters.h"
#include "procfs/process/process_usage.h"

/*
 * What a poll keeps of each process from one pass to the next: the files that it holds open, and the
 * counters as they were, to tell which have changed. One row a process, so it is as large as there
 * are processes, however many have come and gone.
 *
 * A pass takes each process that it meets from the last one (process_table_take); at its end
 * (process_table_turn) those that it has not met are gone.
 */

struct polled {
	struct process_source source; /* owned; its pid is the row's */
	uint32_t has; /* bits by enum process_counter: those in the trace */
	bool is_new; /* no pass has read its counters yet */
	bool taken; /* of a row of the last pass: it has moved to the next */
	uint64_t v[PROCESS_COUNTERS];
	struct process_usage_row usage;
};

struct polled_rows {
	struct polled *rows; /* owned */
	size_t n;
	size_t cap;
};

/* gone and ctx are set by the owner; the rest starts at zero. */
struct process_table {
	void (*gone)(void *ctx, struct polled *p); /* before a row goes; may be NULL */
	void *ctx;
	struct polled_rows last; /* sorted by pid */
	struct polled_rows next; /* in the order of the pass */
	size_t released; /* rows of last that process_table_turn has looked at */
};

/* Without telling. */
void process_table_deinit(struct process_table *t);
/* The row of the process, an empty one if the last pass had none; valid until the next call. NULL:
 * out of memory. */
struct polled *process_table_take(struct process_table *t, int32_t pid);
/* The number is another process' now: the row goes and comes back empty. */
void process_table_renew(struct process_table *t, struct polled *p);
/* The pass is over. Piece by piece, true: there are more rows to let go, before the next pass. */
#define PROCESS_TABLE_PIECE 64u
bool process_table_turn(struct process_table *t);
/* Rows go without telling, and with them their open files. Piece by piece, true: there are more. No
 * pass is on, and none follows. */
bool process_table_empty(struct process_table *t);
/* No counter counts as written any more. */
void process_table_forget(struct process_table *t);

/* The counters (bits) that are not in the trace, or not with this value; from here on they are. */
uint32_t polled_change(struct polled *p, const struct process_counters *now);
