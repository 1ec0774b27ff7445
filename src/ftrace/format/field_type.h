/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "ftrace/format/compiled_event.h"
#include "ftrace/format/proto_events.h"

struct tep_format_field;

/* The most strings in an array: the kernel's limit (MAX_ARRAY_LEN in
 * kernel/trace/trace_probe.h). */
#define FIELD_STRINGS_MAX 64

/* How a kernel field is encoded in protobuf. */
struct field_plan {
	enum field_type type;
	uint16_t size; /* see struct field_op */
	uint16_t min_len; /* bytes of the record that the field itself uses, from its offset */
	bool may_lack; /* a record may end before the field */
	uint8_t count; /* number of strings of this size in an array of strings, else 0 */
};

/* Plans a field of an event that has its own message. type: the field's type in that message. An
 * integer of any width and sign fits any integer type, as a varint. Returns false if the types are
 * incompatible (a string for a number), so the field cannot be written. */
bool field_plan_typed(const struct tep_format_field *field, enum proto_type type,
		      struct field_plan *ret);

/* Plans a field of an event without a message. Numbers stay numbers, char arrays become strings,
 * arrays of strings become several strings, everything else becomes bytes. addresses_only:
 * pointers are user addresses (system calls), so they become numbers, not strings or function
 * names. Returns false if the declaration is not supported: a __data_loc or __rel_loc of unexpected
 * size or element type. */
bool field_plan_generic(const struct tep_format_field *field, bool addresses_only,
			struct field_plan *ret);

/* Returns true if the field is an int64 in the event's descriptor. Other numbers are uint64. */
static inline bool field_type_is_signed(enum field_type type)
{
	return type >= FIELD_S8 && type <= FIELD_PID;
}
