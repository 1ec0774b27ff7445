/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* One kernel event: what all events have, and the message of its own fields. */
struct ftrace_event {
	int64_t ts;
	uint32_t cpu;
	int32_t tid; /* common_pid */
	uint32_t utid; /* utid of the thread `tid` */
	uint32_t number; /* field in FtraceEvent */
	uint32_t generic; /* index in store.generic; NULL_U32: known by number */
	uint32_t sequence_state; /* for symbols; NULL_U32: none */
	struct pb_field message; /* its bytes are borrowed */
};

/* Sets *ret to the first field of this number in the message. Returns false, and sets *ret to
 * zeros, if there is none. */
bool event_field(const struct ftrace_event *e, uint32_t number, struct pb_field *ret);
/* Returns a field's text as a string, or NULL_U32 if there is none. */
uint32_t event_text(struct import *im, const struct ftrace_event *e, uint32_t number);
/* Returns the name of the kernel symbol whose iid a field has, or the iid in hexadecimal. */
uint32_t event_function_name(struct import *im, struct machine *m, const struct ftrace_event *e,
			     uint32_t number);

/* Returns the name of a kernel symbol; NULL_U32 if it is unknown. Counts an iid that the sequence
 * lacks, except for kfree_skb. */
uint32_t event_symbol_name(struct machine *m, const struct ftrace_event *e, uint64_t iid);

/* Kernel events that sonda's FtraceEvent lacks: the trace describes them in store.generic. */

/* Finds an event by the number that the trace gave it. Returns the index in store.generic, or
 * NULL_U32. */
uint32_t generic_find(struct import *im, const struct machine *m, uint32_t number);
/* Adds an event. Takes over what g owns, even on failure. */
void generic_add(struct import *im, const struct machine *m, uint32_t number,
		 struct generic_event *g);
/* Adds the description of the further fields of a known event, and takes over what g owns. Only the
 * first description of an event counts. */
void generic_add_further(struct import *im, const struct machine *m, uint32_t number,
			 struct generic_event *g);
/* Finds the event of a GenericFtraceEvent, or adds it: these share one number, and each message has
 * the event's name. Returns the index, or NULL_U32 if out of memory. */
uint32_t generic_get_by_own_name(struct import *im, const struct machine *m,
				 const struct pb_field *event);
void generic_deinit(struct import *im);

/* Adds a row of ftrace_event. payload, value: see enum payload_kind; for PAYLOAD_RAW, value is the
 * address of the message's bytes, with the message's length before them. */
void rows_add_ftrace(struct import *im, struct machine *m, uint32_t cpu, int64_t ts, uint32_t kind,
		     uint32_t utid, enum payload_kind payload, uint64_t value);
/* Adds the row of an event. symbol_field: name of a field with the iid of a kernel symbol, or
 * NULL. */
void rows_add_event(struct import *im, struct machine *m, const struct ftrace_event *e,
		    const char *symbol_field);

/* Returns true for an event from before the time from which the trace has data of all CPUs. Such an
 * event only gets a row of ftrace_event; a full sched_switch does not even get that. */
static inline bool rows_is_early(const struct machine *m, int64_t ts)
{
	return ts < m->first_data;
}
