/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pb_read.h"

/* The kernel's names of the events that have a field in FtraceEvent, by field number. */

struct event_name {
	const char *group; /* tracepoint group: "sched" */
	const char *name; /* "sched_switch" */
};

/* Returns the event of a field number, in static memory; NULL for a number without an event. */
const struct event_name *event_message_name(uint32_t field);

/* Returns the largest number with an event, plus 1. */
uint32_t event_names_end(void);

/*
 * Counts the ftrace events of a trace by group. An event is identified by its field number in
 * FtraceEvent. The group of an event without a message of its own comes from a descriptor in the
 * same trace, before or after the events. Old generic events have no number.
 */

#define EVENT_COUNTS_MAX_GENERIC 16384 /* numbers without a message; the rest is unnamed */
#define EVENT_COUNTS_MAX_NAME 127 /* stored bytes of a name */
#define EVENT_COUNTS_MAX_GROUPS 512 /* sums by group; further groups are summed as "" */

struct generic_count;

/* Zero-initialise; event_counts_deinit frees. */
struct event_counts {
	uint64_t total;
	uint64_t unnamed; /* events without a number, past the limits, or when out of memory */
	uint64_t *known; /* by field number; NULL until the first event */
	uint32_t n_known;
	struct generic_count *by_id; /* hash */
};

void event_counts_deinit(struct event_counts *c);

/* Counts n events of one field number. */
void event_counts_add(struct event_counts *c, uint32_t field, uint64_t n);
static inline void event_counts_add_one(struct event_counts *c, uint32_t field)
{
	if (field < c->n_known) {
		c->total++;
		c->known[field]++;
	} else {
		event_counts_add(c, field, 1);
	}
}
/* Stores the group of a number from its descriptor. Does nothing for an event with a message of its
 * own, past the limit, or when out of memory. */
void event_counts_set_group(struct event_counts *c, uint32_t field, const struct pb_field *group);

struct group_count {
	char group[EVENT_COUNTS_MAX_NAME + 1]; /* "": no group, or past the limit */
	uint64_t count;
};

/* Returns the sums by group, the largest first. The caller frees *ret. Returns 0 or -ENOMEM. */
int event_counts_by_group(const struct event_counts *c, struct group_count **ret, size_t *ret_n);
