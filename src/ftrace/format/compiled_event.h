/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stddef.h>

#include "ftrace/format/metadata_fields.h"
#include "wire/pb_enc.h"

/*
 * One kernel event, compiled: all that it takes to turn its records into protobuf, in one straight
 * walk over an array of 8-byte steps. Made once when a session is set up (event_compile.h), read
 * for every record (event_encode.h).
 */

/* How one field lies in the record, and what it becomes. The order matters: see field_is_int. */
enum field_type {
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_S8,
	FIELD_S16,
	FIELD_S32,
	FIELD_S64,
	FIELD_PID, /* s32 that is a thread: told to the session's feed */
	FIELD_LAST_PLAIN = FIELD_PID,
	FIELD_DEV32, /* the kernel's dev_t, written as user space's */
	FIELD_DEV64,
	FIELD_SYM32, /* a kernel address, written as an index that hides it */
	FIELD_SYM64,
	FIELD_LAST_INT = FIELD_SYM64,
	FIELD_COMM, /* char[16] */
	FIELD_FIXED_STR, /* char[size], up to a NUL if there is one */
	FIELD_TAIL_STR, /* from offset to the end of the record, likewise */
	FIELD_LOC_STR, /* __data_loc: u32 of length and offset from the record's start */
	FIELD_REL_STR, /* __rel_loc: the same, from the end of this u32 */
	FIELD_PTR32_STR, /* address of a string in printk_formats */
	FIELD_PTR64_STR,
	FIELD_LAST_STR = FIELD_PTR64_STR,
	FIELD_FIXED_BYTES,
	FIELD_TAIL_BYTES,
	FIELD_LOC_BYTES,
	FIELD_REL_BYTES,
	FIELD_ULONG32_ARRAY, /* size bytes of u32, a varint each */
	FIELD_ULONG64_ARRAY,
	FIELD_FIRST_TEXT, /* from here on made by text_fields.h; absent where nothing is to be said */
	FIELD_STACK32 = FIELD_FIRST_TEXT, /* kernel addresses to the end of the record, by name */
	FIELD_STACK64,
	FIELD_USER_STACK32, /* addresses of the process, likewise, as hexadecimal numbers */
	FIELD_USER_STACK64,
	FIELD_SYMBOL32, /* a kernel address: the name of its function */
	FIELD_SYMBOL64,
	FIELD_BPRINT, /* arguments of a format; size says how wide they are (text_fields.h) */
	FIELD_LAST_TEXT = FIELD_BPRINT,
	FIELD_REST_BYTES, /* from offset to the end of the record, which may come before it */
};

/* What stands in size of a FIELD_BPRINT: bytes of a long, and of the narrowest number. */
#define FIELD_BPRINT_SIZE(long_size, min_int) ((uint16_t)((long_size) | (min_int) << 8))
#define FIELD_BPRINT_LONG(size) ((size)&0xffu)
#define FIELD_BPRINT_MIN_INT(size) ((size) >> 8)

struct field_op {
	uint16_t offset; /* in the record */
	uint16_t size; /* bytes, of kinds that have no size of their own */
	uint16_t tag; /* of the protobuf field, encoded; as it lies in memory */
	uint8_t tag_len; /* 1 or 2 */
	uint8_t type; /* enum field_type */
};
_Static_assert(sizeof(struct field_op) == 8, "eight to a cache line");

enum compiled_kind {
	COMPILED_FIELDS, /* a FtraceEvent of its own message or descriptor */
	COMPILED_LEGACY, /* a FtraceEvent with GenericFtraceEvent inside */
	COMPILED_COMPACT_SWITCH, /* columns; ops are state, pid, prio, comm */
	COMPILED_COMPACT_WAKING, /* columns; ops are pid, cpu, prio, comm, flags */
	COMPILED_CONSTANT, /* a FtraceEvent of a message that is the same in all records */
	COMPILED_FIRST_ASKED, /* from here on it is asked of each record whether it is written at all */
	COMPILED_PRINT =
		COMPILED_FIRST_ASKED, /* as COMPILED_FIELDS; ftrace/print of a session with a filter */
	COMPILED_OF_THREADS, /* as COMPILED_FIELDS; those of ftrace's others that only some may write */
	COMPILED_LEGACY_OF_THREADS, /* likewise as COMPILED_LEGACY */
	COMPILED_FEED, /* nothing: nobody asked for the event but the session's feed, for its news */
};

#define COMPILED_NOT_GENERIC UINT16_MAX

struct compiled_event {
	uint8_t kind; /* enum compiled_kind */
	uint8_t n_ops;
	uint8_t event_tag_len; /* 1..3 */
	uint16_t min_len; /* shorter records cannot be this event */
	uint16_t pid_offset; /* common_pid, s32 */
	uint32_t event_tag; /* of the field in FtraceEvent, encoded */
	uint32_t fixed_bound; /* no record takes more than this + n_var * its length, in bytes */
	uint16_t
		generic_index; /* counts the rows with something to describe, or COMPILED_NOT_GENERIC */
	uint16_t
		n_var; /* fields whose length stands in the record; twice where it is hexadecimal */
	struct metadata_fields metadata; /* for the session's feed */
	const struct field_op *ops;

	/* Seldom touched. Everything lies in the row's own allocation. */
	const char *group;
	const char *name;
	const char *const *field_names; /* one each op; for COMPILED_LEGACY */
	const uint8_t *descriptor; /* a whole GenericEventDescriptor, for generic_index; of a
				      COMPILED_CONSTANT the message's content */
	uint32_t descriptor_len; /* 0: the event has a message of its own */
	const uint8_t *further; /* another one, of fields that the message does not have */
	uint32_t further_len; /* 0: it has all of them */
	uint64_t shape; /* hash of what it was made from; the table's */
	uint16_t id; /* the kernel's */
};

/* An integer that is written as it lies in the record. */
static inline int field_is_plain(enum field_type type)
{
	return type <= FIELD_LAST_PLAIN;
}

static inline int field_is_int(enum field_type type)
{
	return type <= FIELD_LAST_INT;
}

static inline int field_is_str(enum field_type type)
{
	return type > FIELD_LAST_INT && type <= FIELD_LAST_STR;
}

static inline int field_is_array(enum field_type type)
{
	return type == FIELD_ULONG32_ARRAY || type == FIELD_ULONG64_ARRAY;
}

static inline int field_is_text(enum field_type type)
{
	return type >= FIELD_FIRST_TEXT && type <= FIELD_LAST_TEXT;
}

/* Trace readers accept the field numbers 1 to 31 in a descriptor and report an error for others. */
#define EVENT_DESCRIPTOR_MAX_FIELDS 31u

struct described_field {
	const char *name;
	const char *suffix; /* of the name; "" is none */
	uint16_t number;
	uint8_t type; /* enum field_type */
};

/*
 * Writes the content of a GenericEventDescriptor: the number of the event's field in FtraceEvent,
 * its message as a DescriptorProto, and its group.
 */
void event_descriptor_write(struct pb_enc *e, uint32_t number, const char *group, const char *name,
			    const struct described_field *fields, unsigned n_fields);
