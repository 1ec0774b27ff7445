/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* Cuts a FtraceEventBundle at given times: each event goes into one piece. Times of other clocks
 * are converted to CLOCK_BOOTTIME where those clocks are known, so that a piece does not need the
 * clock readings of an earlier bundle. */
struct cut_bundle {
	const struct cut_packet *packet; /* borrowed */
	struct cut_reader *reader; /* borrowed */
	struct cut_cpu *state; /* NULL: the bundle has no CPU, or too large a number */
	uint32_t cpu;
	clock_key clock;
	bool rewrites; /* times become CLOCK_BOOTTIME */
	bool any; /* true if it has events */
	int64_t first, last; /* in the trace's clock */
	int64_t previous_end; /* previous_bundle_end_timestamp, in the bundle's clock */
	bool has_previous_end;
	bool has_descriptors, has_columns;
};

/* Reads times and marks; adds the clock readings of the bundle to the clocks of its machine. */
void cut_bundle_read(struct cut_reader *r, const struct cut_packet *c, struct cut_bundle *ret);

/* Calls fn with the time of each event. */
void cut_bundle_each_time(const struct cut_bundle *b, void (*fn)(void *ctx, int64_t ts), void *ctx);

/* For the first pass: calls fn with the times of the first and of the last event, and sets *ts to
 * the first. Does neither if the bundle has no event. */
void cut_bundle_read_span(struct cut_reader *r, const struct cut_packet *c, int64_t *ts,
			  void (*fn)(void *ctx, int64_t ts), void *ctx);

struct cut_piece {
	int64_t first, last; /* it has the events of these times (inclusive) */
	int64_t lost_first, lost_last; /* it has the lost ranges that end in these (inclusive) */
	bool leads; /* the first piece: it has the loss mark and all fields that are not events */
	uint64_t previous_end; /* previous_bundle_end_timestamp of the piece; 0: none */
	bool seeded; /* the part has a switch of this CPU already: columns need no earlier one */
	/* Filled by cut_bundle_write_piece(): */
	uint64_t written_last; /* time of its last event, as written; 0: none */
	bool has_columns;
};

/* Appends the fields of a piece. Returns 0 or -ENOMEM. */
int cut_bundle_write_piece(const struct cut_bundle *b, struct cut_piece *piece, struct strbuf *ret);

/* Remembers the CPU's last switch in columns, for later bundles. Call it after the last piece. */
void cut_bundle_keep_last_switch(const struct cut_bundle *b);

/* Calls fn for each field of the bundle that describes an event without a message, or fields that a
 * message lacks. fn gets the bytes of the field, tag included. Stops if fn returns a negative
 * value, and returns that value; otherwise returns 0. */
int cut_bundle_each_descriptor(const struct cut_bundle *b,
			       int (*fn)(void *ctx, const uint8_t *field, size_t len), void *ctx);
