/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The kernel events that have a protobuf message of their own, and the fields of these messages.
 * Generated from protos/trace/ftrace/ at build time. To add an event that Perfetto knows, add its
 * message there; no C is needed.
 */

/* The type of a field in the message. */
enum proto_type {
	PROTO_INT32,
	PROTO_INT64,
	PROTO_UINT32,
	PROTO_UINT64,
	PROTO_STRING,
	PROTO_BYTES,
	PROTO_REPEATED_UINT64, /* unpacked */
};

struct proto_event {
	uint32_t number; /* of the event's field in FtraceEvent */
	uint16_t first_field;
	uint16_t n_fields;
};

struct proto_field {
	uint16_t number;
	enum proto_type type;
};

/* Finds the message of a kernel event. If two groups have an event of the same name, the field of
 * FtraceEvent is named GROUP_EVENT; both names are tried. Returns false if there is no message. */
bool proto_events_find(const char *group, const char *event, struct proto_event *ret);

/* Finds a field of the message by the kernel's name for it. Returns false if there is none. */
bool proto_events_find_field(const struct proto_event *event, const char *name,
			     struct proto_field *ret);

/* ---- the generated tables; offsets are into proto_names ---- */

struct proto_event_row {
	uint16_t group;
	uint16_t name;
	uint16_t number;
	uint16_t first_field;
	uint16_t n_fields;
};

struct proto_field_row {
	uint16_t name;
	uint16_t number;
	uint16_t type;
};

extern const struct proto_event_row proto_event_rows[]; /* sorted by group, then name */
extern const unsigned proto_event_row_count;
extern const struct proto_field_row proto_field_rows[];
extern const char proto_names[];
