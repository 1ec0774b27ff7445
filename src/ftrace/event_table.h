/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/event_row.h"
#include "ftrace/string_map.h"

/*
 * The rows of a session's events, by the kernel's event id: one array access a record. Built event
 * by event while the session is set up, then only read.
 */

/* Fields of FtraceEvent that events with a descriptor take, in the order they are added. */
#define EVENT_TABLE_GENERIC_FIRST 65536u
#define EVENT_TABLE_GENERIC_MAX 65000u

struct event_table {
	const struct event_row **by_id; /* owned array of borrowed rows, NULL where there is none */
	uint32_t n_ids;
	size_t ids_cap;
	struct event_row **rows; /* owned, and what it points to */
	size_t n_rows;
	size_t rows_cap;
	size_t n_generic;
	struct string_map strings; /* what "char *" fields point to; fill it before the first add */
};

struct event_table_options {
	bool compact; /* sched_switch and sched_waking as columns */
	bool no_generic; /* refuse events without a message of their own */
	bool legacy_generic; /* spell their names out in every event */
};

enum event_table_error {
	EVENT_TABLE_GENERIC_REFUSED = 1, /* the options forbid it */
	EVENT_TABLE_BAD_FORMAT, /* not a format, or none that a record can be read by */
};

/* On zeroed memory nothing is needed before the first add. */
void event_table_deinit(struct event_table *t);

/*
 * Adds an event by the text of its format file, which is changed on the way. 0 (also when it is
 * there already) with *ret_id, -ENOMEM, or an enum event_table_error.
 */
int event_table_add(struct event_table *t, const char *group, const char *name, char *format,
		    const struct event_table_options *options, uint16_t *ret_id);
/* Forgets an event whose records will not come after all. */
void event_table_remove(struct event_table *t, uint16_t id);

/* Can an event of group sched be told in columns? False for every event but the two. */
bool event_table_can_compact(const char *group, const char *name, char *format);

/* The most bytes that a record of up to len bytes becomes. */
size_t event_table_bound(const struct event_table *t, uint32_t len);

static inline const struct event_row *event_table_row(const struct event_table *t, uint16_t id)
{
	return id < t->n_ids ? t->by_id[id] : NULL;
}
