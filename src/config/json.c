/* SPDX-License-Identifier: Apache-2.0 */
#include "config/json.h"

#include <math.h>
#include <string.h>

#include "config/text.h"
#include "config/text_field.h"

void json_print_string(const char *s, struct strbuf *out)
{
	struct strbuf plain = {0};

	strbuf_puts(&plain, s);
	if (plain.len)
		str_make_plain(plain.s, plain.len, "");
	strbuf_putc(out, '"');
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.s[i] == '"' || plain.s[i] == '\\')
			strbuf_putc(out, '\\');
		strbuf_putc(out, plain.s[i]);
	}
	strbuf_putc(out, '"');
	out->failed |= plain.failed;
	strbuf_deinit(&plain);
}

static void print_bytes(const ProtobufCBinaryData *b, struct strbuf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	strbuf_putc(out, '"');
	for (size_t i = 0; i < b->len; i += 3) {
		uint32_t v = (uint32_t)b->data[i] << 16;

		v |= i + 1 < b->len ? (uint32_t)b->data[i + 1] << 8 : 0;
		v |= i + 2 < b->len ? b->data[i + 2] : 0;
		strbuf_putc(out, digits[v >> 18]);
		strbuf_putc(out, digits[v >> 12 & 63]);
		strbuf_putc(out, i + 1 < b->len ? digits[v >> 6 & 63] : '=');
		strbuf_putc(out, i + 2 < b->len ? digits[v & 63] : '=');
	}
	strbuf_putc(out, '"');
}

static void print_enum(const ProtobufCFieldDescriptor *field, const int *number, struct strbuf *out)
{
	const ProtobufCEnumValue *v =
		protobuf_c_enum_descriptor_get_value(field->descriptor, *number);

	if (v)
		json_print_string(v->name, out);
	else
		strbuf_printf(out, "%d", *number);
}

static void print_value(const ProtobufCFieldDescriptor *field, const void *v, struct strbuf *out)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		json_print(*(const ProtobufCMessage *const *)v, out);
		return;
	case PROTOBUF_C_TYPE_STRING:
		json_print_string(*(const char *const *)v, out);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		print_bytes(v, out);
		return;
	case PROTOBUF_C_TYPE_ENUM:
		print_enum(field, v, out);
		return;
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		if (!isfinite(field->type == PROTOBUF_C_TYPE_FLOAT ? (double)*(const float *)v
								   : *(const double *)v)) {
			strbuf_puts(out, "null");
			return;
		}
		break;
	default:
		break;
	}
	text_print_scalar(field, v, out);
}

static void print_values(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			 size_t n, struct strbuf *out)
{
	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		print_value(field, text_field_get(message, field, 0), out);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		strbuf_putc(out, i ? ',' : '[');
		print_value(field, text_field_get(message, field, i), out);
	}
	strbuf_putc(out, ']');
}

void json_print(const ProtobufCMessage *message, struct strbuf *out)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	bool first = true;

	strbuf_putc(out, '{');
	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];
		size_t n = text_field_count(message, field);

		if (n == 0)
			continue;
		strbuf_printf(out, "%s\"%s\":", first ? "" : ",", field->name);
		first = false;
		print_values(message, field, n, out);
	}
	strbuf_putc(out, '}');
}
