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

/* task_rules.c: returns the rule of an event, or NULL. */
const struct event_rule *task_rule_of(uint32_t number);

/* Returns the name of a kernel symbol, or NULL_U32. */
uint32_t event_symbol(struct machine *m, const struct ftrace_event *e, uint64_t iid);

/* Events without a number in FtraceEvent, by the number that the trace gave them. */
uint32_t generic_find(struct import *im, const struct machine *m, uint32_t number);
/* Takes over g->fields. */
void generic_add(struct import *im, const struct machine *m, uint32_t number,
		 struct generic_event *g);
void generic_deinit(struct import *im);
