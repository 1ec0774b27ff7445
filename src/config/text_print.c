/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One field per line; repeated fields one line per value. Unknown fields have no type in the
 * descriptor. They are printed under their numbers, by their wire types.
 */
#include <inttypes.h>
#include <string.h>

#include "config/text.h"
#include "config/text_field.h"
#include "config/text_values.h"
#include "wire/pb_dec.h"

static void put_indent(struct strbuf *out, unsigned depth)
{
	strbuf_printf(out, "%*s", (int)depth * 2, "");
}

static void print_enum(const ProtobufCEnumDescriptor *type, int number, struct strbuf *out)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type, number);

	if (value)
		strbuf_puts(out, value->name);
	else
		strbuf_printf(out, "%d", number);
}

void text_print_scalar(const ProtobufCFieldDescriptor *field, const void *v, struct strbuf *out)
{
	const ProtobufCBinaryData *bytes = v;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		strbuf_printf(out, "%" PRId32, *(const int32_t *)v);
		return;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		strbuf_printf(out, "%" PRIu32, *(const uint32_t *)v);
		return;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		strbuf_printf(out, "%" PRId64, *(const int64_t *)v);
		return;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		strbuf_printf(out, "%" PRIu64, *(const uint64_t *)v);
		return;
	case PROTOBUF_C_TYPE_FLOAT:
		text_value_print_float(*(const float *)v, out);
		return;
	case PROTOBUF_C_TYPE_DOUBLE:
		text_value_print_double(*(const double *)v, out);
		return;
	case PROTOBUF_C_TYPE_BOOL:
		strbuf_puts(out, *(const protobuf_c_boolean *)v ? "true" : "false");
		return;
	case PROTOBUF_C_TYPE_ENUM:
		print_enum(field->descriptor, *(const int *)v, out);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		text_value_print_bytes(bytes->data, bytes->len, out);
		return;
	default:
		text_value_print_bytes(*(const char *const *)v, strlen(*(const char *const *)v),
				       out);
		return;
	}
}

static uint64_t decode_little_endian(const uint8_t *data, size_t len)
{
	uint64_t v = 0;

	for (size_t i = len; i-- > 0;)
		v = v << 8 | data[i];
	return v;
}

static void print_unknown(const ProtobufCMessageUnknownField *f, struct strbuf *out)
{
	const uint8_t *end = f->data + f->len, *rest;
	uint64_t v = 0;

	strbuf_printf(out, "%" PRIu32 ": ", f->tag);
	switch (f->wire_type) {
	case PROTOBUF_C_WIRE_TYPE_32BIT:
		strbuf_printf(out, "0x%08" PRIx64, decode_little_endian(f->data, f->len));
		break;
	case PROTOBUF_C_WIRE_TYPE_64BIT:
		strbuf_printf(out, "0x%016" PRIx64, decode_little_endian(f->data, f->len));
		break;
	case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED: /* the prefix is part of the data */
		rest = pb_get_varint(f->data, end, &v);
		text_value_print_bytes(rest ? rest : f->data,
				       (size_t)(end - (rest ? rest : f->data)), out);
		break;
	default:
		pb_get_varint(f->data, end, &v);
		strbuf_printf(out, "%" PRIu64, v);
	}
	strbuf_putc(out, '\n');
}

static void print_message(const ProtobufCMessage *message, unsigned depth, struct strbuf *out);

static void print_field(const ProtobufCFieldDescriptor *field, const void *v, unsigned depth,
			struct strbuf *out)
{
	put_indent(out, depth);
	strbuf_puts(out, field->name);
	if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
		strbuf_puts(out, ": ");
		text_print_scalar(field, v, out);
	} else {
		strbuf_puts(out, " {\n");
		print_message(*(const ProtobufCMessage *const *)v, depth + 1, out);
		put_indent(out, depth);
		strbuf_putc(out, '}');
	}
	strbuf_putc(out, '\n');
}

static void print_message(const ProtobufCMessage *message, unsigned depth, struct strbuf *out)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];
		size_t n = text_field_count(message, field);

		for (size_t k = 0; k < n; k++)
			print_field(field, text_field_get(message, field, k), depth, out);
	}
	for (unsigned i = 0; i < message->n_unknown_fields; i++) {
		put_indent(out, depth);
		print_unknown(&message->unknown_fields[i], out);
	}
}

void text_print(const ProtobufCMessage *message, struct strbuf *out)
{
	print_message(message, 0, out);
}
