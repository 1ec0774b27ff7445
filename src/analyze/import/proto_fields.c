/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that a trace describes (ExtensionDescriptor): fields of TrackEvent that programs added.
 * A field's name and type are found by the name of its message and its number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/import/track_event.h"
#include "base/core/hash_table.h"
#include "gen/fields.h"

#define MAX_DEPTH 32
#define MAX_SET_BYTES (16u << 20)
#define MAX_NAME_BYTES 1024u /* of the full name of a message or enum */

/* Field numbers of descriptor.proto, the messages that describe messages. */
enum { SET_FILE = 1 };
enum { FILE_PACKAGE = 2, FILE_MESSAGE = 4, FILE_ENUM = 5, FILE_EXTENSION = 7 };
enum { MESSAGE_NAME = 1, MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM, MESSAGE_EXTENSION = 6 };
enum { FIELD_NAME = 1, FIELD_EXTENDEE, FIELD_NUMBER, FIELD_LABEL, FIELD_TYPE, FIELD_TYPE_NAME };
enum { LABEL_REPEATED = 3 };
enum {
	TYPE_DOUBLE = 1,
	TYPE_FLOAT,
	TYPE_INT64,
	TYPE_UINT64,
	TYPE_INT32,
	TYPE_FIXED64,
	TYPE_FIXED32,
	TYPE_BOOL,
	TYPE_STRING,
	TYPE_GROUP,
	TYPE_MESSAGE,
	TYPE_BYTES,
	TYPE_UINT32,
	TYPE_ENUM,
	TYPE_SFIXED32,
	TYPE_SFIXED64,
	TYPE_SINT32,
	TYPE_SINT64
};

struct proto_key {
	uint32_t type; /* string: the message or the enum */
	uint32_t number;
};

struct proto_field {
	struct proto_key key;
	uint32_t name;
	uint32_t type_name; /* string: of a message or enum */
	uint32_t type;
	bool repeated;
	UT_hash_handle hh;
};

static struct proto_field *proto_fields_find(struct import *im, uint32_t type, uint32_t number)
{
	struct proto_key key = {.type = type, .number = number};
	struct proto_field *f;

	HASH_FIND(hh, im->proto_fields, &key, sizeof(key), f);
	return f;
}

static void proto_fields_add(struct import *im, const struct proto_field *f)
{
	struct proto_field *new;

	if (proto_fields_find(im, f->key.type, f->key.number))
		return;
	new = budget_alloc(&im->store->budget, sizeof(*new));
	if (new)
		*new = *f;
	BUDGET_HASH_ADD(&im->store->budget, im->proto_fields, key, new);
}

void proto_fields_deinit(struct import *im)
{
	HASH_FREE(im->proto_fields);
}

/* ---- descriptors ---- */

static uint32_t proto_fields_intern_text(struct import *im, const struct pb_field *f)
{
	return strings_intern(&im->store->strings, f->data, f->data ? f->len : 0);
}

/* Adds a field of a message type. scope: full name of that message; an extension names its message
 * itself. */
static void add_field_of_type(struct import *im, uint32_t scope, const struct pb_field *message)
{
	struct proto_field new = {.key.type = scope};

	pb_for_each (f, message)
		switch (f.id) {
		case FIELD_NAME:
			new.name = proto_fields_intern_text(im, &f);
			break;
		case FIELD_EXTENDEE:
			new.key.type = proto_fields_intern_text(im, &f);
			break;
		case FIELD_NUMBER:
			new.key.number = (uint32_t)f.u64;
			break;
		case FIELD_LABEL:
			new.repeated = f.u64 == LABEL_REPEATED;
			break;
		case FIELD_TYPE:
			new.type = (uint32_t)f.u64;
			break;
		case FIELD_TYPE_NAME:
			new.type_name = proto_fields_intern_text(im, &f);
			break;
		}
	proto_fields_add(im, &new);
}

/* Returns the full name of a message or enum in a scope: .package.Outer.Inner. Without a name, or
 * with one that is too long, returns the scope. */
static uint32_t full_name_in_scope(struct import *im, uint32_t scope,
				   const struct pb_field *message)
{
	struct strings *s = &im->store->strings;

	pb_for_each (f, message)
		if (f.id == MESSAGE_NAME && f.data && s->of[scope].len + f.len < MAX_NAME_BYTES)
			return strings_intern_f(s, "%s.%.*s", strings_get(s, scope), (int)f.len,
						(const char *)f.data);
	return scope;
}

/* Stores the values of an enum as if they were its fields. */
static void add_enum(struct import *im, uint32_t scope, const struct pb_field *message)
{
	uint32_t name = full_name_in_scope(im, scope, message);

	pb_for_each (f, message) {
		struct proto_field new = {.key.type = name};

		if (f.id != 2 || !f.data) /* value */
			continue;
		pb_for_each (part, &f) {
			if (part.id == 1)
				new.name = proto_fields_intern_text(im, &part);
			else if (part.id == 2)
				new.key.number = (uint32_t)part.u64;
		}
		proto_fields_add(im, &new);
	}
}

static void add_message_type(struct import *im, uint32_t scope, const struct pb_field *message,
			     int depth)
{
	uint32_t name = full_name_in_scope(im, scope, message);
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (depth < MAX_DEPTH && pb_dec_next(&d, &f)) {
		if (!f.data)
			continue;
		if (f.id == MESSAGE_FIELD || f.id == MESSAGE_EXTENSION)
			add_field_of_type(im, name, &f);
		else if (f.id == MESSAGE_NESTED)
			add_message_type(im, name, &f, depth + 1);
		else if (f.id == MESSAGE_ENUM)
			add_enum(im, name, &f);
	}
}

static void proto_fields_add_file(struct import *im, const struct pb_field *file)
{
	struct strings *s = &im->store->strings;
	uint32_t package = strings_intern_z(s, "");

	pb_for_each (f, file)
		if (f.id == FILE_PACKAGE && f.data && f.len && f.len < MAX_NAME_BYTES)
			package = strings_intern_f(s, ".%.*s", (int)f.len, (const char *)f.data);
	pb_for_each (f, file) {
		if (!f.data)
			continue;
		if (f.id == FILE_MESSAGE)
			add_message_type(im, package, &f, 0);
		else if (f.id == FILE_ENUM)
			add_enum(im, package, &f);
		else if (f.id == FILE_EXTENSION)
			add_field_of_type(im, package, &f);
	}
}

static void add_descriptor_set(struct import *im, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == SET_FILE && f.data)
			proto_fields_add_file(im, &f);
}

/* The unpacked bytes stay charged to the budget although they are freed, so that many small packets
 * cannot unpack without limit. */
static void add_zipped_descriptor_set(struct import *im, const struct pb_field *f)
{
	z_stream z = {.next_in = (uint8_t *)f->data, .avail_in = (uInt)f->len};
	struct strbuf b = {0};
	uint8_t step[4096];
	int status = Z_OK;

	if (f->len > MAX_SET_BYTES || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return;
	while (status == Z_OK && b.len < MAX_SET_BYTES && !b.failed &&
	       budget_charge(&im->store->budget, sizeof(step))) {
		z.next_out = step;
		z.avail_out = sizeof(step);
		status = inflate(&z, Z_NO_FLUSH);
		strbuf_add(&b, step, sizeof(step) - z.avail_out);
	}
	inflateEnd(&z);
	if (b.failed)
		im->store->budget.error = -ENOMEM;
	else if (status == Z_STREAM_END)
		add_descriptor_set(im, (const uint8_t *)b.s, b.len);
	else
		im->undecodable++;
	strbuf_deinit(&b);
}

void tokenize_extension_descriptor(struct import *im, const struct pb_field *f)
{
	pb_for_each (part, f) {
		if (part.id == PB_EXTENSION_DESCRIPTOR_EXTENSION_SET && part.data)
			add_descriptor_set(im, part.data, part.len);
		else if (part.id == PB_EXTENSION_DESCRIPTOR_EXTENSION_SET_GZIP && part.data)
			add_zipped_descriptor_set(im, &part);
	}
}

/* ---- values ---- */

static void put_base64(struct arg_writer *w, const struct pb_field *f)
{
	struct strbuf b = {0};

	strbuf_put_base64(&b, f->data, f->len);
	arg_writer_buf(w, &b);
	strbuf_deinit(&b);
}

static double decode_real(uint32_t type, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (type == TYPE_DOUBLE) {
		memcpy(&d, &bits, sizeof(d));
		return d;
	}
	memcpy(&f, &low, sizeof(f));
	return (double)f;
}

static void proto_fields_put_number(struct import *im, struct arg_writer *w,
				    const struct proto_field *p, uint64_t v)
{
	const struct proto_field *value;

	switch (p->type) {
	case TYPE_DOUBLE:
	case TYPE_FLOAT:
		arg_writer_real(w, decode_real(p->type, v));
		break;
	case TYPE_BOOL:
		arg_writer_int(w, ARG_BOOL, v != 0);
		break;
	case TYPE_UINT64:
	case TYPE_UINT32:
	case TYPE_FIXED64:
	case TYPE_FIXED32:
		arg_writer_int(w, ARG_UINT, (int64_t)v);
		break;
	case TYPE_SINT32:
	case TYPE_SINT64:
		arg_writer_int(w, ARG_INT, pb_unzigzag(v));
		break;
	case TYPE_INT32:
	case TYPE_SFIXED32:
		arg_writer_int(w, ARG_INT, (int32_t)v);
		break;
	case TYPE_ENUM:
		value = proto_fields_find(im, p->type_name, (uint32_t)v);
		if (value)
			arg_writer_text(w, strings_get(&im->store->strings, value->name),
					im->store->strings.of[value->name].len);
		else
			arg_writer_int(w, ARG_INT, (int32_t)v);
		break;
	default:
		arg_writer_int(w, ARG_INT, (int64_t)v);
		break;
	}
}

struct proto_path {
	struct import *im;
	struct arg_writer *w;
	int depth;
};

static void put_message_fields(struct proto_path *p, uint32_t type, const struct pb_field *message,
			       bool (*skip)(uint32_t field));

static unsigned proto_fields_fixed_width(uint32_t type)
{
	switch (type) {
	case TYPE_DOUBLE:
	case TYPE_FIXED64:
	case TYPE_SFIXED64:
		return 8;
	case TYPE_FLOAT:
	case TYPE_FIXED32:
	case TYPE_SFIXED32:
		return 4;
	default:
		return 0;
	}
}

/* Adds packed numbers, each with its index in the list. */
static void put_packed_numbers(struct proto_path *p, const struct proto_field *field,
			       const struct pb_field *f, unsigned *index)
{
	struct pb_packed packed = pb_packed_of(f);
	unsigned width = proto_fields_fixed_width(field->type);
	uint64_t v = 0;

	for (size_t at = 0;; at += width) {
		struct arg_mark mark;

		if (width && at + width > f->len)
			return;
		if (width)
			memcpy(&v, f->data + at, width);
		else if (!pb_packed_next(&packed, &v))
			return;
		mark = arg_writer_enter_index(p->w, (*index)++);
		proto_fields_put_number(p->im, p->w, field, v);
		arg_writer_end_key(p->w, mark);
	}
}

static void proto_fields_put_value(struct proto_path *p, const struct proto_field *field,
				   const struct pb_field *f)
{
	if (f->data && field->type == TYPE_STRING)
		arg_writer_text(p->w, f->data, f->len);
	else if (f->data && field->type == TYPE_BYTES)
		put_base64(p->w, f);
	else if (f->data && field->type == TYPE_MESSAGE && !f->len)
		arg_writer_int(p->w, ARG_NULL, 0);
	else if (f->data && field->type == TYPE_MESSAGE)
		put_message_fields(p, field->type_name, f, NULL);
	else if (!f->data)
		proto_fields_put_number(p->im, p->w, field, f->u64);
}

/* Returns the counter of a repeated field in a message, which is the index of its next value.
 * Fields for which there is no room share the last counter. */
static unsigned *next_field_index(unsigned *counts, uint32_t *numbers, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++)
		if (!numbers[i] || numbers[i] == number) {
			numbers[i] = number;
			return &counts[i];
		}
	return &counts[n - 1];
}

#define REPEATED_FIELDS 32

static void put_message_fields(struct proto_path *p, uint32_t type, const struct pb_field *message,
			       bool (*skip)(uint32_t field))
{
	unsigned counts[REPEATED_FIELDS] = {0};
	uint32_t numbers[REPEATED_FIELDS] = {0};

	if (p->depth >= MAX_DEPTH)
		return;
	p->depth++;
	pb_for_each (f, message) {
		const struct proto_field *field =
			skip && skip(f.id) ? NULL : proto_fields_find(p->im, type, f.id);
		struct arg_mark mark, at;

		if (!field)
			continue;
		mark = arg_writer_enter(p->w, strings_get(&p->im->store->strings, field->name),
					p->im->store->strings.of[field->name].len, false);
		if (!field->repeated) {
			proto_fields_put_value(p, field, &f);
		} else {
			unsigned *index = next_field_index(counts, numbers, REPEATED_FIELDS, f.id);

			if (f.data && field->type != TYPE_STRING && field->type != TYPE_BYTES &&
			    field->type != TYPE_MESSAGE) {
				put_packed_numbers(p, field, &f, index);
			} else {
				at = arg_writer_enter_index(p->w, (*index)++);
				proto_fields_put_value(p, field, &f);
				arg_writer_end_key(p->w, at);
			}
		}
		arg_writer_end_key(p->w, mark);
	}
	p->depth--;
}

void proto_field_add_args(struct import *im, struct arg_writer *w, const char *type,
			  const struct pb_field *message, bool (*skip)(uint32_t field))
{
	struct proto_path p = {.im = im, .w = w};

	if (im->proto_fields)
		put_message_fields(&p, strings_intern_z(&im->store->strings, type), message, skip);
}
