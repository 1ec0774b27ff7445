/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/columns.h"
#include "analyze/store/strings.h"
#include "analyze/store/table.h"
#include "analyze/store/track_columns.h"

/*
 * A trace as tables in memory. The importer fills it; SQL reads it. Rows refer to each other by row
 * number: utid is a row of `thread`, upid of `process`, track_id of `track`.
 */

/* Where the arguments of a kernel event are, in the column FTRACE_PAYLOAD: 62 bits of value, then 2
 * of kind, so that the numbers of nearby events are near each other. */
enum payload_kind {
	PAYLOAD_RAW, /* event's message in the trace: its length, then its bytes (store_payload()) */
	PAYLOAD_SWITCH, /* row of TABLE_COMPACT_SWITCH */
	PAYLOAD_WAKING, /* row of TABLE_COMPACT_WAKING */
	PAYLOAD_STORED, /* an arg_set_id of TABLE_ARGS; PAYLOAD_NONE: none */
};

#define PAYLOAD_BITS 2
#define PAYLOAD_KIND (((uint64_t)1 << PAYLOAD_BITS) - 1)
#define PAYLOAD_NONE (UINT64_MAX >> PAYLOAD_BITS)

/* FTRACE_KIND: the event's field in FtraceEvent, or from here on an index of store.generic. */
#define GENERIC_KINDS 4096u
#define GENERIC_KINDS_MAX 32768u

struct generic_field {
	uint32_t number;
	uint8_t type; /* FieldDescriptorProto.Type */
	uint32_t name; /* a string */
};

/* An event that a descriptor in the trace describes, or one that names itself (no fields here). */
struct generic_event {
	uint32_t name; /* a string */
	struct generic_field *fields; /* owned */
	size_t n_fields, cap_fields;
};

enum arg_type {
	ARG_NULL,
	ARG_INT,
	ARG_UINT,
	ARG_STRING,
	ARG_REAL,
	ARG_POINTER,
	ARG_BOOL,
	ARG_JSON
};

/* One argument. Text is borrowed from the store or the trace. */
struct arg {
	const char *key;
	uint32_t key_len;
	const char *flat_key; /* NULL: as key */
	uint32_t flat_key_len;
	enum arg_type type;
	int64_t i; /* ARG_INT, ARG_UINT, ARG_POINTER, ARG_BOOL */
	double real;
	const char *s;
	uint32_t len;
};

struct arg_list {
	struct arg *args; /* owned */
	size_t n, cap;
};

/* Kernel events have sets of their own, made when they are read: FTRACE_ARGS_BASE + row *
 * STRIDE. */
#define FTRACE_ARGS_BASE ((int64_t)1 << 40)
#define FTRACE_ARGS_STRIDE 64 /* arguments that are shown of an event */

/* The bytes that rows refer to: the file's mapping and unpacked packets. */
struct trace_bytes {
	uint8_t *data;
	size_t len;
	bool mapped; /* else malloc'ed */
};

struct stat_count;
struct arg_slots;

struct store {
	struct budget budget;
	struct strings strings;
	struct table tables[TABLES];
	uint32_t *states; /* owned: string ids */
	size_t n_states, cap_states;
	struct generic_event *generic; /* owned */
	size_t n_generic, cap_generic;
	struct trace_bytes *bytes; /* owned */
	size_t n_bytes, cap_bytes;
	uint32_t *arg_slots; /* owned: sets by their contents; set + 1 */
	uint32_t n_arg_slots, n_arg_sets;
	struct stat_count *stats; /* owned hash */
	int64_t start_ts, end_ts; /* of all events; set by the importer */
};

void trace_bytes_free(struct trace_bytes *b);

/* Gives back the memory of the pages of a mapped file; they are read again when they are needed. */
void trace_bytes_release_pages(const struct trace_bytes *b);

/* Keeps bytes until the store is freed; they belong to it also on failure. Returns 0 or -errno. */
int store_keep(struct store *s, struct trace_bytes bytes);

/* Returns the number of a state's string, for columns of states. */
uint16_t store_state(struct store *s, uint32_t string);

/* The payload of a message: how far it is from the trace's first byte. */
static inline uint64_t store_raw_payload(const struct store *s, const uint8_t *message)
{
	return ((uintptr_t)message - (uintptr_t)s->bytes[0].data) & PAYLOAD_NONE;
}

static inline const uint8_t *store_message(const struct store *s, uint64_t value)
{
	return (const uint8_t *)(uintptr_t)(((uintptr_t)s->bytes[0].data + value) & PAYLOAD_NONE);
}

void store_value(const struct store *s, const struct table *t, uint32_t row, unsigned column,
		 struct value *ret);
