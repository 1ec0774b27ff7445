/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/print_filter.h"
#include "ftrace/format/compiled_event.h"
#include "ftrace/format/printk_formats.h"

/*
 * The compiled events of a session by the kernel's event id: one array access per record. Filled
 * while the session is set up, then read by page encoders. After adding events later, call
 * page_encoder_reserve before their first record.
 */

/* Events without a message that a session may have, including those that were removed. */
#define EVENT_TABLE_GENERIC_MAX 65000u

struct event_table {
	/* owned array, indexed by the kernel's id, of borrowed events; an entry may be NULL */
	const struct compiled_event **by_id;
	uint32_t n_ids;
	size_t ids_cap;
	struct compiled_event **events; /* owned, with the events */
	size_t n_events;
	size_t events_cap;
	size_t n_generic; /* above every generic_index */
	uint16_t *free_indices; /* owned: unused indices below n_generic */
	size_t n_free_indices;
	size_t free_indices_cap;
	uint32_t *numbers; /* owned: field numbers of FtraceEvent to release */
	size_t n_numbers;
	size_t numbers_cap;
	/* targets of "char *" fields; fill it before the first add */
	struct printk_formats strings;
	/* owned: filter of markers; NULL: none. Set before the first add */
	struct print_filter *prints;
};

struct event_table_options {
	enum {
		COMPACT_NONE,
		COMPACT_ALL, /* encode sched_switch and sched_waking as columns */
		COMPACT_OF_SUBJECT, /* likewise, where the kernel records only some threads */
	} compact;
	bool no_generic; /* refuse events without a message of their own */
	bool legacy_generic; /* repeat names in every event (GenericFtraceEvent) */
	bool metadata_only; /* do not write events; for the metadata bus only */
	bool symbols; /* add a name field for addresses of functions */
};

/* How the trace represents a dynamic event that a session has made. */
enum event_represented_as {
	EVENT_AS_FIELDS, /* a generic event with a descriptor, even if a message has its name */
	EVENT_AS_MESSAGE, /* write the message of the kernel's event of that name */
	EVENT_AS_PROBE_BEGIN, /* write a KprobeEvent: its name, this type, the probe's arguments */
	EVENT_AS_PROBE_END,
	EVENT_AS_PROBE_INSTANT,
};

struct event_representation {
	const char *group; /* as shown in the trace; tracefs has a group of the session */
	const char *name;
	enum event_represented_as as;
};

enum event_table_error {
	EVENT_TABLE_GENERIC_REFUSED = 1, /* the options forbid generic events */
	EVENT_TABLE_BAD_FORMAT, /* malformed, or records cannot be decoded */
	EVENT_TABLE_FULL, /* no field number is left */
};

/* Frees all events. Zeroed memory is an empty table. */
void event_table_deinit(struct event_table *t);

/* Adds an event by the text of its format file, which is modified. Returns 0 with *ret_id (also if
 * it exists already), -ENOMEM, or an enum event_table_error. If the id belongs to another event,
 * or to this one with another format, the old entry is removed. */
int event_table_add(struct event_table *t, const char *group, const char *name, char *format,
		    const struct event_table_options *options, uint16_t *ret_id);
/* Like event_table_add for an event with another representation. repr may be NULL and is borrowed
 * for the call. */
int event_table_add_as(struct event_table *t, const char *group, const char *name,
		       const struct event_representation *repr, char *format,
		       const struct event_table_options *options, uint16_t *ret_id);
/* Removes an event that has no more records. It stays allocated until event_table_drop_removed. */
void event_table_remove(struct event_table *t, uint16_t id);
/* Frees the removed events. No page encoder of this table may have an open bundle. */
void event_table_drop_removed(struct event_table *t);

/* Returns the event compiled from exactly these inputs, or NULL. */
const struct compiled_event *event_table_find(const struct event_table *t, const char *group,
					      const char *name,
					      const struct event_representation *repr,
					      const char *format);

/* Returns the event that has this name in the trace, or NULL. */
const struct compiled_event *event_table_find_named(const struct event_table *t, const char *group,
						    const char *name);

/* Returns true if the event can be encoded in columns: only sched_switch and sched_waking can.
 * Modifies format. */
bool event_table_can_compact(const char *group, const char *name, char *format,
			     const struct event_table_options *options);

/* Returns the most bytes that any event of the table needs for a record of up to len bytes. */
size_t event_table_max_size(const struct event_table *t, uint32_t len);

static inline const struct compiled_event *event_table_get(const struct event_table *t, uint16_t id)
{
	return id < t->n_ids ? t->by_id[id] : NULL;
}
