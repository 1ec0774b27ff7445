/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/format/metadata_fields.h"
#include "wire/pb_enc.h"

/*
 * A kernel event compiled for encoding: everything needed to turn its records into protobuf in one
 * pass over an array of 8-byte steps. Built once when a session is set up (event_compile.h), read
 * for every record (event_encode.h).
 */

/* How a field is stored in the record, and how it is encoded. The order matters: see
 * field_is_int. */
enum field_type {
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_S8,
	FIELD_S16,
	FIELD_S32,
	FIELD_S64,
	FIELD_PID, /* s32, a thread id; also reported to the metadata bus */
	FIELD_LAST_PLAIN = FIELD_PID,
	FIELD_DEV32, /* the kernel's dev_t, converted to user space's */
	FIELD_DEV64,
	FIELD_SYM32, /* a kernel address, encoded as an index that hides it */
	FIELD_SYM64,
	FIELD_HASHED32, /* the address of an object, encoded as a keyed hash that hides it */
	FIELD_HASHED64,
	FIELD_LAST_INT = FIELD_HASHED64,
	FIELD_COMM, /* char[16] */
	FIELD_FIXED_STR, /* char[size], up to the first NUL if there is one */
	FIELD_TAIL_STR, /* from offset to the end of the record, up to a NUL */
	FIELD_LOC_STR, /* __data_loc: u32, length and offset from the start of the record */
	FIELD_REL_STR, /* __rel_loc: u32, length and offset from the end of this u32 */
	FIELD_PTR32_STR, /* address of a string of printk_formats */
	FIELD_PTR64_STR,
	FIELD_LAST_STR = FIELD_PTR64_STR,
	FIELD_FIXED_BYTES,
	FIELD_TAIL_BYTES,
	FIELD_LOC_BYTES,
	FIELD_REL_BYTES,
	FIELD_ULONG32_ARRAY, /* an array of size bytes, one varint for each u32 */
	FIELD_ULONG64_ARRAY,
	FIELD_FIRST_TEXT, /* up to FIELD_LAST_TEXT: become text (text_fields.h); omitted if empty */
	/* kernel addresses up to the end of the record, as function names */
	FIELD_STACK32 = FIELD_FIRST_TEXT,
	FIELD_STACK64,
	FIELD_USER_STACK32, /* user addresses up to the end of the record, as hexadecimal numbers */
	FIELD_USER_STACK64,
	FIELD_SYMBOL32, /* a kernel address, as the name of its function */
	FIELD_SYMBOL64,
	FIELD_BPRINT, /* arguments of a printf format; size holds their widths (text_fields.h) */
	FIELD_LAST_TEXT = FIELD_BPRINT,
	/* from offset to the end of the record; the record may end before offset */
	FIELD_REMAINING_BYTES,
};

/* The size of a FIELD_BPRINT: bytes of a long, and of the smallest integer argument. */
#define FIELD_BPRINT_SIZE(long_size, min_int) ((uint16_t)((long_size) | (min_int) << 8))
#define FIELD_BPRINT_LONG(size) ((size)&0xffu)
#define FIELD_BPRINT_MIN_INT(size) ((size) >> 8)

struct field_op {
	uint16_t offset; /* in the record */
	uint16_t size; /* bytes, for types without a fixed size */
	uint16_t tag; /* of the protobuf field, encoded, in memory order */
	uint8_t tag_len; /* 1 or 2 */
	uint8_t type; /* enum field_type */
};
_Static_assert(sizeof(struct field_op) == 8, "eight to a cache line");

enum compiled_kind {
	COMPILED_FIELDS, /* FtraceEvent with a message or descriptor of its own */
	COMPILED_LEGACY, /* FtraceEvent with a GenericFtraceEvent inside */
	COMPILED_COMPACT_SWITCH, /* CompactSched columns; ops are state, pid, prio, comm */
	COMPILED_COMPACT_WAKING, /* CompactSched columns; ops are pid, cpu, prio, comm, flags */
	COMPILED_PROBE, /* FtraceEvent with a KprobeEvent, whose first bytes are constant */
	COMPILED_FIRST_FILTERED, /* kinds from here on: not every record is written */
	/* like COMPILED_FIELDS; ftrace/print in a session with a filter */
	COMPILED_PRINT = COMPILED_FIRST_FILTERED,
	COMPILED_OF_THREADS, /* like COMPILED_FIELDS; other markers, filtered by thread */
	COMPILED_LEGACY_OF_THREADS, /* like COMPILED_LEGACY; other markers, filtered by thread */
	COMPILED_METADATA, /* not written: enabled only for the metadata bus */
	/* CompactSched columns of a recording that lacks some threads; a fifth op is prev_pid */
	COMPILED_SUBJECT_SWITCH,
	COMPILED_SUBJECT_WAKING, /* as COMPILED_COMPACT_WAKING, or the event `whole` */
};

#define COMPILED_NOT_GENERIC UINT16_MAX

struct compiled_event {
	uint8_t kind; /* enum compiled_kind */
	uint8_t n_ops;
	uint8_t event_tag_len; /* 1..3 */
	uint16_t min_len; /* a shorter record is invalid */
	uint16_t pid_offset; /* common_pid, s32 */
	uint32_t event_tag; /* tag of the field of FtraceEvent, encoded */
	uint32_t fixed_bound; /* a record of len bytes needs at most fixed_bound + n_var * len */
	/* number among the events that need a descriptor, or COMPILED_NOT_GENERIC */
	uint16_t generic_index;
	uint16_t n_var; /* fields of variable length; counted twice if written as hexadecimal */
	struct metadata_fields metadata; /* fields for the metadata bus */
	const struct field_op *ops;
	struct compiled_event *whole; /* owned; NULL but for COMPILED_SUBJECT_WAKING */

	/* Rarely read; all part of this allocation. */
	const char *group;
	const char *name;
	const char *const *field_names; /* one for each op; for COMPILED_LEGACY, COMPILED_PROBE */
	/* an encoded GenericEventDescriptor; the constant first bytes for COMPILED_PROBE */
	const uint8_t *descriptor;
	uint32_t descriptor_len; /* 0: the event has its own message */
	const uint8_t *further; /* descriptor of the fields that the message lacks */
	uint32_t further_len; /* 0: the message has all fields */
	uint64_t shape; /* hash of the inputs of the compilation */
	uint16_t n_left_out; /* fields that are not written, because n_ops cannot count them */
	uint16_t id; /* the kernel's event id */
};

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
	const char *suffix; /* appended to name; "" for none */
	uint16_t number;
	uint8_t type; /* enum field_type */
	bool is_enum; /* declared as an enum: its values may have names */
};
