/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* One kernel event: what all events have, and the message of its own fields. */
struct ftrace_event {
	int64_t ts;
	uint32_t cpu;
	int32_t tid; /* common_pid */
	uint32_t utid; /* of tid */
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

/* Returns the name of a kernel symbol, or NULL_U32, which it counts. */
uint32_t event_symbol_name(struct machine *m, const struct ftrace_event *e, uint64_t iid);
