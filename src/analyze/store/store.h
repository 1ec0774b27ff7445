/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/columns.h"
#include "analyze/store/strings.h"
#include "analyze/store/table.h"

/*
 * A trace as tables in memory. The importer fills it; SQL reads it. Rows refer to each other by row
 * number: utid is a row of `thread`, upid of `process`, track_id of `track`.
 */

/* The column FTRACE_PAYLOAD refers to the arguments of a kernel event. Its low 2 bits are the
 * kind, the upper 62 bits the value, so that the numbers of nearby events are near each other. */
enum payload_kind {
	PAYLOAD_RAW, /* the place of the event's message, which begins with its length */
	PAYLOAD_SWITCH, /* row of TABLE_COMPACT_SWITCH */
	PAYLOAD_WAKING, /* row of TABLE_COMPACT_WAKING */
	PAYLOAD_STORED, /* an arg_set_id of TABLE_ARGS; PAYLOAD_NONE: no arguments */
};

#define PAYLOAD_BITS 2
#define PAYLOAD_KIND (((uint64_t)1 << PAYLOAD_BITS) - 1)
#define PAYLOAD_NONE (UINT64_MAX >> PAYLOAD_BITS)

/* FTRACE_CPU is machine * STORE_CPUS_OF_A_MACHINE + CPU. */
#define STORE_CPUS_OF_A_MACHINE 4096u

/* FTRACE_KIND is the number of the event's field in FtraceEvent, or GENERIC_KINDS plus an index of
 * store.generic. */
#define GENERIC_KINDS 4096u
#define GENERIC_KINDS_MAX 32768u

struct generic_field {
	uint32_t number;
	uint8_t type; /* FieldDescriptorProto.Type */
	uint32_t name; /* a string */
};

/* A named value of a field. The name is an argument with a key of its own. */
struct generic_value {
	uint32_t field, key, name; /* strings */
	int64_t value;
};
#define GENERIC_VALUES_MAX 1024u /* of an event; more are left out */

/* One of three: an event that a descriptor in the trace describes; an event whose messages contain
 * its name and the names of its fields (self_named); the fields of a known event that its message
 * in FtraceEvent lacks. */
struct generic_event {
	uint32_t name; /* a string */
	bool self_named;
	struct generic_field *fields; /* owned */
	size_t n_fields, cap_fields;
	struct generic_value *values; /* owned */
	size_t n_values, cap_values;
};

/* Frees what the event owns. */
void generic_event_deinit(struct generic_event *g);

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

/* One argument. Texts have no NUL at their end; they are valid until store_deinit(). */
struct arg {
	const char *key;
	uint32_t key_len;
	const char *flat_key; /* NULL: as key */
	uint32_t flat_key_len;
	enum arg_type type;
	int64_t i; /* ARG_INT, ARG_UINT, ARG_POINTER, ARG_BOOL */
	double real;
	const char *s; /* ARG_STRING, ARG_JSON; may be NULL */
	uint32_t len;
};

struct arg_list {
	struct arg *args; /* owned */
	size_t n, cap;
	bool failed; /* no memory: arguments of a kernel event are left out */
};

/* The arg_set_id of a kernel event, unless its set is stored: FTRACE_ARGS_BASE + its row of
 * TABLE_FTRACE * FTRACE_ARGS_STRIDE. */
#define FTRACE_ARGS_BASE ((int64_t)1 << 40)
#define FTRACE_ARGS_STRIDE 64 /* most arguments of an event; more are left out */

/* Bytes that rows refer to. The first ones are the trace; each of the others is what a compressed
 * packet in it contains. A place in them is an offset, as if they all followed each other. */
struct trace_bytes {
	uint8_t *data; /* NULL: a compressed packet that no row needed since the store was read */
	size_t len;
	bool mapped; /* mapped by mmap(); else allocated by malloc() */
	uint64_t begin; /* the place of the first byte; store_keep_bytes() sets it */
	/* The compressed packet: the number of its field, and where its bytes are in the trace. */
	uint32_t packed_field;
	uint64_t packed_at, packed_len;
	uint32_t crc; /* CRC-32 of the contents, if data is NULL */
};

struct stat_count;
struct arg_slots;

/* store_image.c writes every member that readers of a filled store use: it needs each new one. */
struct store {
	struct budget budget;
	struct strings strings;
	struct table tables[TABLES];
	uint32_t *states; /* owned: string ids */
	size_t n_states, cap_states;
	struct generic_event *generic; /* owned */
	size_t n_generic, cap_generic;
	/* Owned: by machine * GENERIC_KINDS + known kind; index in generic + 1 of the event's
	 * further fields, or 0. */
	uint32_t *further;
	size_t n_further;
	struct trace_bytes *bytes; /* owned */
	size_t n_bytes, cap_bytes;
	uint32_t *bytes_by_address; /* owned: indices, by address of `data`; empty after reading */
	size_t cap_by_address;
	uint32_t *arg_slots; /* owned: hash table of sets by their contents; id + 1, 0: empty */
	uint32_t n_arg_slots, n_arg_sets;
	struct stat_count *stats; /* owned hash */
	int64_t start_ts, end_ts; /* ns, of all events; the importer sets them */
	bool has_sleep_timers; /* the trace has starts of timers that end a sleep */
	/* Owned. NULL: all threads are recorded. Otherwise an entry for each utid: true if the
	 * config selects the thread, its process or an ancestor. Of other threads, the trace has
	 * only the events that involve a selected one. */
	bool *recorded;
};

/* Unmaps or frees the bytes, not the struct. */
void trace_bytes_free(struct trace_bytes *b);

/* Releases the pages of a mapped file; the kernel reads them again when they are used. Does nothing
 * for bytes that are not mapped. */
void trace_bytes_release_pages(const struct trace_bytes *b);

/* Takes over the bytes: frees them with the store, or at once on failure. Returns 0, or -EFBIG or
 * -ENOMEM. */
int store_keep_bytes(struct store *s, struct trace_bytes bytes);

/* Returns the number that a column of states has for a string; makes it if it is new. Returns
 * NULL_U16 if out of memory, or if there are too many states. */
uint16_t store_state_number(struct store *s, uint32_t string);

/* Returns the place of a byte that is in s->bytes. Only for a store that is being imported. */
uint64_t store_find_place(const struct store *s, const uint8_t *p);

/* Returns the bytes from a place to the end of the trace, or of the contents of a compressed
 * packet, which it unpacks if need be. None (*ret_len 0) if it cannot be unpacked any more. */
const uint8_t *store_bytes_at(const struct store *s, uint64_t place, size_t *ret_len);

/* Reads a cell as a value of SQL. Sets ret->kind always, the other members as far as the kind has
 * them. */
void store_read_value(const struct store *s, const struct table *t, uint32_t row, unsigned column,
		      struct value *ret);
