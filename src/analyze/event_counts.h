/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's names of the events that FtraceEvent has a field for, by field number. */

struct event_name {
	const char *group; /* tracepoint group: "sched" */
	const char *name; /* "sched_switch" */
};

/* NULL for a number without an event. Static memory. */
const struct event_name *event_name_of(uint32_t field);

/* One past the largest number with an event. */
uint32_t event_names_end(void);

/*
 * How often each ftrace event stands in a trace. An event is known by its field number in
 * FtraceEvent; one that has no message of its own by a number which a descriptor in the same trace
 * names, before or after the events; an old-style generic event by its name alone.
 */

#define EVENT_COUNTS_MAX_GENERIC 16384 /* kinds of events without a message; the rest is unnamed */
#define EVENT_COUNTS_MAX_NAME 127 /* bytes of a name that are kept */
#define EVENT_COUNTS_MAX_GROUPS 512 /* sums by group; the rest has none */

struct generic_count;

/* Zero-initialise; event_counts_deinit frees. */
struct event_counts {
	uint64_t total;
	uint64_t unnamed; /* of total: events past the limits, or that memory was missing for */
	uint64_t *known; /* by field number; NULL until the first event */
	struct generic_count *by_id; /* hash */
	struct generic_count *by_name; /* hash */
	size_t n_generic;
};

void event_counts_deinit(struct event_counts *c);

/* n events of one field number. */
void event_counts_add(struct event_counts *c, uint32_t field, uint64_t n);
/* One old-style generic event. Names are bytes of the trace, not NUL-terminated. */
void event_counts_add_named(struct event_counts *c, const uint8_t *name, size_t len);
/* A descriptor: what the events of this number are called. */
void event_counts_describe(struct event_counts *c, uint32_t field, const uint8_t *group,
			   size_t group_len, const uint8_t *name, size_t name_len);

/* Calls fn for each event that occurs, in no order. The strings live during the call. An event
 * without a group has "", one without a name "#NUMBER". */
void event_counts_each(const struct event_counts *c,
		       void (*fn)(void *ctx, const char *group, const char *name, uint64_t count),
		       void *ctx);

struct group_count {
	char group[EVENT_COUNTS_MAX_NAME + 1]; /* "" for events without one */
	uint64_t count;
};

/* The sums by group, the largest first. *ret is the caller's to free. Returns 0 or -ENOMEM. */
int event_counts_by_group(const struct event_counts *c, struct group_count **ret, size_t *ret_n);

/*
 * Counts the FtraceEvents at the beginning of the fields of a FtraceEventBundle, [p, end), as long as
 * each has the form that Perfetto's probes and ours give to nearly every event:
 *
 *	timestamp varint | pid varint | one message, to the end of the event
 *
 * Returns the field where it stopped, or end; a general decoder continues there. *ret_first and
 * *ret_last are the earliest and the latest timestamp other than 0; 0: there was none.
 */
const uint8_t *plain_events_count(const uint8_t *p, const uint8_t *end, struct event_counts *counts,
				  uint64_t *ret_first, uint64_t *ret_last);
