/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <event-parse.h>

#include "common/descriptor.pb-c.h"
#include "ftrace/events/event_table.h"
#include "ftrace/format/proto_events.h"
#include "gen/fields.h"
#include "unit/ftrace/oracle_symbols.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* What a trace says of the fields of an event: their numbers and types, by its own
 * message (proto_events.h) and by the descriptors of the bundle. */
#define ORACLE_FIELDS 256
#define ORACLE_ADDRESSES 4096

struct oracle_field {
	char *name; /* owned */
	uint32_t number;
	enum proto_type type;
	bool described; /* by the bundle, not by a message */
};

/* The fields of one event, by what describes them. */
struct oracle_message {
	struct oracle_field fields[ORACLE_FIELDS];
	unsigned n;
	struct oracle_bytes {
		uint8_t *data; /* owned */
		size_t len;
	} described, further; /* the descriptors that were read */
};

struct oracle {
	struct tep_handle *tep; /* borrowed, as is all else that is given */
	const struct printk_formats *strings;
	const struct oracle_symbols *known_symbols; /* NULL: without names */
	struct oracle_message *messages[1 << 17]; /* owned; by number in FtraceEvent */
	uint64_t addresses[ORACLE_ADDRESSES]; /* of the bundle, by number */
	uint64_t numbers, texts, bytes, arrays, symbols, absent; /* fields that were compared */
	char error[1024];
};

__attribute__((format(printf, 2, 3))) static inline bool oracle_fail(struct oracle *o,
								     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->error, sizeof(o->error), fmt, ap);
	va_end(ap);
	return false;
}

static inline void oracle_free(struct oracle *o)
{
	for (size_t i = 0; i < sizeof(o->messages) / sizeof(*o->messages); i++) {
		struct oracle_message *m = o->messages[i];

		for (unsigned f = 0; m && f < m->n; f++)
			free(m->fields[f].name);
		if (m) {
			free(m->described.data);
			free(m->further.data);
		}
		free(m);
	}
	free(o);
}

/* Numbers of addresses begin again. */
static inline void oracle_begin_bundle(struct oracle *o)
{
	memset(o->addresses, 0, sizeof(o->addresses));
}

/* ---- what the trace says of fields ---- */

static inline struct oracle_message *oracle_message(struct oracle *o, uint32_t number)
{
	if (number >= sizeof(o->messages) / sizeof(*o->messages))
		return NULL;
	if (!o->messages[number])
		o->messages[number] = calloc(1, sizeof(struct oracle_message));
	return o->messages[number];
}

static inline void oracle_add_field(struct oracle_message *m, const char *name, uint32_t number,
				    enum proto_type type, bool described)
{
	if (m->n < ORACLE_FIELDS)
		m->fields[m->n++] = (struct oracle_field){strdup(name), number, type, described};
}

static inline struct oracle_field *oracle_field(struct oracle_message *m, const char *name)
{
	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(m->fields[i].name, name))
			return &m->fields[i];
	return NULL;
}

static inline enum proto_type oracle_type(unsigned described)
{
	return described == PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_STRING  ? PROTO_STRING
	       : described == PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES ? PROTO_BYTES
	       : described == PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_INT64 ? PROTO_INT64
									   : PROTO_UINT64;
}

static inline bool oracle_read_descriptor(struct oracle *o, struct oracle_message *m,
					  const struct pb_field *bytes)
{
	Pb__DescriptorProto *d = pb__descriptor_proto__unpack(NULL, bytes->len, bytes->data);

	if (!d)
		return oracle_fail(o, "a descriptor cannot be read");
	for (size_t i = 0; i < d->n_field; i++)
		oracle_add_field(m, d->field[i]->name, (uint32_t)d->field[i]->number,
				 oracle_type(d->field[i]->type), true);
	pb__descriptor_proto__free_unpacked(d, NULL);
	return true;
}

/* One GenericEventDescriptor of the bundle. The same event has the same one in all bundles. */
static inline bool oracle_describe(struct oracle *o, const struct pb_field *descriptor,
				   bool further)
{
	struct pb_field f, bytes = {0};
	struct oracle_bytes *before;
	struct oracle_message *m;
	uint32_t number = 0;
	struct pb_dec d;

	pb_dec_init(&d, descriptor->data, descriptor->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID)
			number = (uint32_t)f.u64;
		else if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR)
			bytes = f;
	m = oracle_message(o, number);
	if (!m || !bytes.data)
		return oracle_fail(o, "a descriptor of event %u", number);
	before = further ? &m->further : &m->described;
	if (before->data)
		return (before->len == bytes.len && !memcmp(before->data, bytes.data, bytes.len)) ||
		       oracle_fail(o, "event %u has two descriptors", number);
	before->data = malloc(bytes.len + 1);
	before->len = bytes.len;
	memcpy(before->data, bytes.data, bytes.len);
	return oracle_read_descriptor(o, m, &bytes);
}

static inline void oracle_add_known(struct oracle_message *m, const struct proto_event *message,
				    const struct tep_format_field *f)
{
	struct proto_field field;

	for (; f; f = f->next)
		if (!oracle_field(m, f->name) && proto_events_find_field(message, f->name, &field))
			oracle_add_field(m, f->name, field.number, field.type, false);
}

/* The event's own message, with what the bundle adds to it. */
static inline struct oracle_message *oracle_message_of(struct oracle *o, struct tep_event *event,
						       uint32_t number)
{
	struct oracle_message *m = oracle_message(o, number);
	struct proto_event message;

	if (!m || !proto_events_find(event->system, event->name, &message))
		return m;
	if (message.number != number)
		return NULL;
	oracle_add_known(m, &message, event->format.fields);
	oracle_add_known(m, &message, event->format.common_fields);
	return m;
}
