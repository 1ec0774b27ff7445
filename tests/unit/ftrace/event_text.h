/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/descriptor.pb-c.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/events/event_table.h"
#include "gen/fields.h"
#include "unit/ftrace/formats.h"
#include "unit/message_fields.h"

/* A record is compiled and encoded, and becomes text. */
struct event_case {
	const char *fields; /* of the kernel's format, behind the common ones */
	const char *record; /* behind the 8 bytes of the common fields */
	size_t len;
	const char *want;
};

/* The record of a case and its length. */
#define RECORD(bytes) bytes, sizeof(bytes) - 1

#define EVENT_TEXT_ID 9

static char event_text_out[1 << 16];
static size_t event_text_len;

static inline void event_text_add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void event_text_add(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	event_text_len += (size_t)vsnprintf(event_text_out + event_text_len,
					    sizeof(event_text_out) - event_text_len, fmt, ap);
	va_end(ap);
	assert(event_text_len < sizeof(event_text_out));
}

/* "-1", "'text'", "<00ff>" */
static inline void event_text_value(const struct pb_field *f)
{
	bool is_text = true;

	if (!f->data) {
		event_text_add("%lld", (long long)f->u64);
		return;
	}
	for (size_t i = 0; i < f->len; i++)
		is_text = is_text && (isprint(f->data[i]) || f->data[i] == '\n');
	event_text_add(is_text ? "'" : "<");
	for (size_t i = 0; i < f->len; i++)
		event_text_add(is_text ? "%c" : "%02x", f->data[i]);
	event_text_add(is_text ? "'" : ">");
}

/* A field of a GenericFtraceEvent: "a=-1", "b=4294967295u", "c='text'". */
static inline void event_text_named(const struct pb_field *field)
{
	for_each_valid_field (f, field)
		if (f.id == PB_GENERIC_FTRACE_EVENT_FIELD_NAME)
			event_text_add("%.*s=", (int)f.len, (const char *)f.data);
		else {
			event_text_value(&f);
			if (f.id == PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE)
				event_text_add("u");
		}
}

/* Encodes a record: "1=-1 2='text' 3=<00ff>", the fields of the event's message; fields of a
 * GenericFtraceEvent by their names. " bad" at the end: a field was outside the record. Time and
 * thread are checked. The text is valid until the next call. */
static inline const char *event_text(const struct compiled_event *ev, struct encode_ctx *ctx,
				     const void *payload, size_t len)
{
	const struct ring_record r = {.time = 5, .payload = payload, .len = (uint32_t)len};
	static uint8_t bytes[1 << 16];
	struct pb_field event, f, message = {0};
	struct pb_dec d;
	uint8_t *end;

	sym_index_clear(ctx->syms);
	ctx->bad_field = false;
	event_text_len = 0;
	*event_text_out = '\0';
	assert(len >= ev->min_len && event_encode_max_bytes(ev, r.len) <= sizeof(bytes));
	end = event_encode(ev, &r, ctx, bytes);
	assert((size_t)(end - bytes) <= event_encode_max_bytes(ev, r.len));
	pb_dec_init(&d, bytes, (size_t)(end - bytes));
	assert(pb_dec_next(&d, &event) && event.id == PB_FTRACE_EVENT_BUNDLE_EVENT && d.cur == end);
	pb_dec_init(&d, event.data, event.len);
	assert(pb_dec_next(&d, &f) && f.id == PB_FTRACE_EVENT_TIMESTAMP && f.u64 == 5);
	assert(pb_dec_next(&d, &f) && f.id == PB_FTRACE_EVENT_PID);
	assert(f.u64 == load32(payload + 4));
	assert(pb_dec_next(&d, &message) && !pb_dec_next(&d, &f) && pb_dec_ok(&d));
	for_each_valid_field (value, &message) {
		if (message.id == PB_FTRACE_EVENT_GENERIC &&
		    value.id == PB_GENERIC_FTRACE_EVENT_EVENT_NAME)
			continue;
		if (event_text_len)
			event_text_add(" ");
		if (message.id == PB_FTRACE_EVENT_GENERIC) {
			event_text_named(&value);
			continue;
		}
		event_text_add("%u=", value.id);
		event_text_value(&value);
	}
	if (ctx->bad_field)
		event_text_add(" bad");
	return event_text_out;
}

/* Adds group/NAME of these fields to the table. print_fmt NULL: the one of formats.h. */
static inline const struct compiled_event *event_text_compile(
	struct event_table *table, const char *group, const char *name, const char *fields,
	const char *print_fmt, const struct event_table_options *options)
{
	char *text = format_text(name, EVENT_TEXT_ID, FORMAT_COMMON, fields);
	uint16_t id;

	if (print_fmt) {
		strcpy(strstr(text, "print fmt:"), "print fmt: ");
		strcat(text, print_fmt);
	}
	assert(event_table_add(table, group, name, text, options, &id) == 0);
	return event_table_get(table, id);
}

/* A GenericEventDescriptor: "NUMBER GROUP/NAME a=1:TYPE b=2:TYPE", types as in descriptor.proto. */
static inline const char *event_text_descriptor(const uint8_t *bytes, size_t len)
{
	Pb__DescriptorProto *m = NULL;
	struct pb_field f;
	uint32_t number = 0;
	char group[64] = "";
	struct pb_dec d;

	event_text_len = 0;
	pb_dec_init(&d, bytes, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID)
			number = (uint32_t)f.u64;
		else if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME)
			snprintf(group, sizeof(group), "%.*s", (int)f.len, (const char *)f.data);
		else
			m = pb__descriptor_proto__unpack(NULL, f.len, f.data);
	assert(pb_dec_ok(&d) && m);
	event_text_add("%u %s/%s", number, group, m->name);
	for (size_t i = 0; i < m->n_field; i++)
		event_text_add(" %s=%d:%d", m->field[i]->name, m->field[i]->number,
			       m->field[i]->type);
	for (size_t i = 0; i < m->n_enum_type; i++)
		for (size_t j = 0; j < m->enum_type[i]->n_value; j++)
			event_text_add(" %s:%d=%s", m->enum_type[i]->name,
				       m->enum_type[i]->value[j]->number,
				       m->enum_type[i]->value[j]->name);
	pb__descriptor_proto__free_unpacked(m, NULL);
	return event_text_out;
}
