/* SPDX-License-Identifier: Apache-2.0 */
#include "config/json.h"

#include <math.h>
#include <string.h>

#include "config/text.h"
#include "config/text_field.h"

static void print_enum(const ProtobufCFieldDescriptor *field, const int *number, struct strbuf *out)
{
	const ProtobufCEnumValue *v =
		protobuf_c_enum_descriptor_get_value(field->descriptor, *number);

	if (v)
		strbuf_put_json(out, v->name);
	else
		strbuf_printf(out, "%d", *number);
}

static void print_value(const ProtobufCFieldDescriptor *field, const void *v, struct strbuf *out)
{
	const ProtobufCBinaryData *bytes = v;

	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		json_print(*(const ProtobufCMessage *const *)v, out);
		return;
	case PROTOBUF_C_TYPE_STRING:
		strbuf_put_json(out, *(const char *const *)v);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		strbuf_putc(out, '"');
		strbuf_put_base64(out, bytes->data, bytes->len);
		strbuf_putc(out, '"');
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
