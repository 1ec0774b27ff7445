/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/packets.h"
#include "base/core/hash_table.h"
#include "base/text/str.h"

/* Append a field of a message to a string, which is `failed` if memory runs out. */
void cut_put_number(struct strbuf *b, uint32_t field, uint64_t v);
void cut_put_bytes(struct strbuf *b, uint32_t field, const void *data, size_t len);

/*
 * Handles values of track events that are differences from earlier events of their sequence: values
 * of incremental counters, and the times of programs before 2020. A part lacks those earlier
 * events. So times become absolute, and the first value of a counter in a part is its sum so far.
 *
 * The value of any other counter holds until its next value. So a part with values of such a
 * counter begins with the last value before the part.
 */

/* Sums of incremental counters since the sequence's last clear, by track. Zero-initialise. */
struct cut_sum;
struct cut_sums {
	struct cut_sum *by_track; /* owned hash */
};
void cut_sums_clear(struct cut_sums *s);

/* The counters that a machine's track descriptors name. Zero-initialise. */
struct cut_counter;
struct cut_counters {
	struct cut_counter *by_uuid; /* owned hash */
};
void cut_counters_deinit(struct cut_counters *c);
/* Reads a TrackDescriptor. Returns 0 or -ENOMEM. */
int cut_counters_read_descriptor(struct cut_counters *c, const struct pb_field *descriptor);

/* Times of the sequence's last event, as the sum of the differences so far. */
struct cut_times {
	bool known; /* a ThreadDescriptor gave the start */
	int64_t us, thread_us, instructions;
};
/* Sets the times to those of a ThreadDescriptor. */
void cut_times_read_descriptor(struct cut_times *t, const struct pb_field *descriptor);

#define CUT_VALUES_MAX 9 /* the event's own counter, and 8 more */

/* One value of an event. */
struct cut_value {
	uint64_t track;
	struct pb_field field;
	bool incremental;
	double before, after; /* sum before and after the event, if incremental */
	struct cut_counter *counter; /* borrowed */
};

struct cut_differences {
	bool any; /* some time or value of the event is a difference, or its time is in us */
	bool has_time; /* us is set: CLOCK_MONOTONIC */
	int64_t us, thread_us, instructions; /* absolute */
	bool has_counter; /* values[0] is the event's own */
	size_t n_values;
	struct cut_value values[CUT_VALUES_MAX];
};

/* State of the sequence that differences refer to. All are borrowed. */
struct cut_values_of {
	const struct cut_counters *counters;
	const struct strbuf *defaults; /* TracePacketDefaults */
	struct cut_times *times;
	struct cut_sums *sums;
};

/* Reads a TrackEvent, and adds its values to sums and times: call it in the order of the file.
 * Returns 0 or -ENOMEM. */
int cut_differences_read(const struct pb_field *event, const struct cut_values_of *of,
			 struct cut_differences *ret);

/* Appends the event's fields with their values adjusted to `part`, the sums of the part so far, and
 * updates `part`. Returns 1 if the fields differ from those of the trace, 0 if not, or -ENOMEM. */
int cut_differences_build(const struct pb_field *event, const struct cut_differences *d,
			  struct cut_sums *part, struct strbuf *ret);

/* Appends the fields of a TrackEvent with the value that the counter of v had before `from`.
 * Returns false if the counter is incremental, had no value yet, or had one at `from` or later. */
bool cut_value_put_before(const struct cut_value *v, int64_t from, struct strbuf *ret);
/* Remembers the values of an event as the last ones of their counters. ts: time of the event. */
void cut_differences_keep_last_values(const struct cut_differences *d, int64_t ts);
