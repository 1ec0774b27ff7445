/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/format/compiled_event.h"
#include "ftrace/events/event_representation.h"
#include "ftrace/events/print_filter.h"
#include "ftrace/format/printk_formats.h"

/*
 * The rows of a session's events, by the kernel's event id: one array access a record. Built event
 * by event while the session is set up; read by translators. Whoever adds events later tells them
 * (page_encoder_refit) before the first record comes.
 */

/* Events without a message that a session may have; also of those that came and went. */
#define EVENT_TABLE_GENERIC_MAX 65000u

struct event_table {
	const struct compiled_event *
		*by_id; /* owned array of borrowed rows, NULL where there is none */
	uint32_t n_ids;
	size_t ids_cap;
	struct compiled_event **events; /* owned, and what it points to */
	size_t n_events;
	size_t events_cap;
	size_t n_generic; /* every generic_index is below */
	uint16_t *free_indices; /* owned: those below that no row has */
	size_t n_free_indices;
	size_t free_indices_cap;
	uint32_t *numbers; /* owned: of FtraceEvent's fields, each to be given back */
	size_t n_numbers;
	size_t numbers_cap;
	struct printk_formats
		strings; /* what "char *" fields point to; fill it before the first add */
	struct print_filter *prints; /* owned: of markers; NULL: all. Likewise */
};

struct event_table_options {
	bool compact; /* sched_switch and sched_waking as columns */
	bool no_generic; /* refuse events without a message of their own */
	bool legacy_generic; /* spell their names out in every event */
	bool metadata_only; /* not to be written: for the metadata bus alone */
	bool symbols; /* give addresses of functions a field for the name */
};

enum event_table_error {
	EVENT_TABLE_GENERIC_REFUSED = 1, /* the options forbid it */
	EVENT_TABLE_BAD_FORMAT, /* not a format, or none that a record can be read by */
	EVENT_TABLE_FULL, /* no number is left for an event without a message */
};

/* On zeroed memory nothing is needed before the first add. */
void event_table_deinit(struct event_table *t);

/*
 * Adds an event by the text of its format file, which is changed on the way. 0 (also when it is
 * there already) with *ret_id, -ENOMEM, or an enum event_table_error. Where the id is another
 * event's, or the same event's of another format, that one is removed.
 */
int event_table_add(struct event_table *t, const char *group, const char *name, char *format,
		    const struct event_table_options *options, uint16_t *ret_id);
/* The same for one that the trace tells otherwise; told may be NULL, and is borrowed for the call.
 */
int event_table_add_as(struct event_table *t, const char *group, const char *name,
		       const struct event_representation *repr, char *format,
		       const struct event_table_options *options, uint16_t *ret_id);
/* No records come of an event any more. Its row stays until event_table_sweep. */
void event_table_remove(struct event_table *t, uint16_t id);
/* Frees the rows that were removed. No bundle of a translator of this table is open. */
void event_table_sweep(struct event_table *t);

/* The row that was made from just this, or NULL. */
const struct compiled_event *event_table_find(const struct event_table *t, const char *group,
					      const char *name,
					      const struct event_representation *repr,
					      const char *format);

/* The row of an event that is in the trace by this name, or NULL. */
const struct compiled_event *event_table_named(const struct event_table *t, const char *group,
					       const char *name);

/* Can an event of group sched be told in columns? False for every event but the two. */
bool event_table_can_compact(const char *group, const char *name, char *format);

/* The most bytes that a record of up to len bytes becomes. */
size_t event_table_bound(const struct event_table *t, uint32_t len);

static inline const struct compiled_event *event_table_get(const struct event_table *t, uint16_t id)
{
	return id < t->n_ids ? t->by_id[id] : NULL;
}
