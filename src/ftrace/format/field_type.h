/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "ftrace/format/compiled_event.h"
#include "ftrace/format/proto_events.h"

struct tep_format_field;

/* Strings of an array, as many as the kernel allows (MAX_ARRAY_LEN of
 * kernel/trace/trace_probe.h). */
#define FIELD_STRINGS_MAX 64

/* How a kernel field becomes a protobuf field. */
struct field_plan {
	enum field_type type;
	uint16_t size; /* as in struct field_op */
	uint16_t min_len; /* bytes of the record that the field itself takes, from its offset */
	bool may_lack; /* a record may end before it */
	uint8_t count; /* of an array of strings: one behind the other, of that size; else 0 */
};

/*
 * A field whose protobuf type is given, by the event's own message. Integers of any width and sign
 * go into any integer type, as varints. False: the two have nothing in common (a string for a
 * number), so the field cannot be written.
 */
bool field_plan_typed(const struct tep_format_field *field, enum proto_type type,
		      struct field_plan *ret);

/*
 * A field without a message: numbers stay numbers, char arrays strings, arrays of strings as many of
 * them, and everything else is bytes. addresses_only: pointers lead into a process (syscalls) and are numbers, not strings and
 * functions of the kernel. False: there is nothing to write (a gap of no size).
 */
bool field_plan_generic(const struct tep_format_field *field, bool addresses_only,
			struct field_plan *ret);

/* Signed numbers are int64 of an event's own descriptor, others uint64. */
static inline bool field_type_is_signed(enum field_type type)
{
	return type >= FIELD_S8 && type <= FIELD_PID;
}
