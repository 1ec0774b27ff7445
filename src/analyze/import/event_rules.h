/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* One kernel event, decoded as far as all have the same fields. */
struct ftrace_event {
	int64_t ts;
	uint32_t cpu;
	int32_t tid; /* common_pid */
	uint32_t utid;
	uint32_t number; /* field in FtraceEvent */
	uint32_t generic; /* in store.generic; NULL_U32: known by number */
	uint32_t sequence_state; /* for symbols; NULL_U32: none */
	const uint8_t *data; /* the event's message */
	size_t len;
};

/* What an event makes beside its row of ftrace_event. */
struct event_rule {
	uint32_t number;
	void (*fn)(struct import *im, struct machine *m, const struct ftrace_event *e);
	const char *symbol; /* a field that is the number of a kernel symbol; NULL: none */
};

/* Each ends with the number 0. */
extern const struct event_rule task_rules[];
extern const struct event_rule slice_rules[];
extern const struct event_rule thread_slice_rules[];
extern const struct event_rule device_slice_rules[];
extern const struct event_rule counter_rules[];
extern const struct event_rule memory_rules[];

/* Sets *ret to the first value of a field; returns false, and sets it to 0 of no kind, if there is
 * none. */
bool event_field(const struct ftrace_event *e, uint32_t number, struct pb_field *ret);
/* Returns a field's text, NULL_U32 if there is none. */
uint32_t event_text(struct import *im, const struct ftrace_event *e, uint32_t number);
/* Returns the name of the function whose number a field has, or the number in hexadecimal. */
uint32_t event_function(struct import *im, struct machine *m, const struct ftrace_event *e,
			uint32_t number);

/* Returns the name of a kernel symbol, or NULL_U32. */
uint32_t event_symbol(struct machine *m, const struct ftrace_event *e, uint64_t iid);

/* Events without a number in FtraceEvent, by the number that the trace gave them. */
uint32_t generic_find(struct import *im, const struct machine *m, uint32_t number);
/* Takes over g->fields. */
void generic_add(struct import *im, const struct machine *m, uint32_t number,
		 struct generic_event *g);
void generic_deinit(struct import *im);
