/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf-c stores only the length of an array, not its capacity. Arrays grow here when the length
 * is a power of two, to the next one, so the length determines the capacity.
 */
#include "config/text_field.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *member_at(const ProtobufCMessage *message, unsigned offset)
{
	return (char *)message + offset;
}

static bool is_in_oneof(const ProtobufCFieldDescriptor *field)
{
	return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

size_t text_field_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return 4;
	}
}

/* Returns true if a singular pointer holds a value of the message, not a default. */
static bool pointer_is_set(const void *slot, const ProtobufCFieldDescriptor *field)
{
	const void *p = *(void *const *)slot;

	return p && p != field->default_value;
}

/* Returns true for values that proto3 omits: zero, and the empty string. */
static bool text_field_is_zero(const void *slot, const ProtobufCFieldDescriptor *field)
{
	static const char zeros[sizeof(ProtobufCBinaryData)];

	if (field->type == PROTOBUF_C_TYPE_STRING)
		return !*(char *const *)slot || !**(char *const *)slot;
	if (field->type == PROTOBUF_C_TYPE_BYTES)
		return ((const ProtobufCBinaryData *)slot)->len == 0;
	return memcmp(slot, zeros, text_field_size(field)) == 0;
}

size_t text_field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const void *slot = member_at(message, field->offset);
	const void *quantifier = member_at(message, field->quantifier_offset);
	bool pointer =
		field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)quantifier;
	if (is_in_oneof(field))
		return *(const uint32_t *)quantifier == field->id &&
		       (!pointer || pointer_is_set(slot, field));
	if (field->label == PROTOBUF_C_LABEL_REQUIRED)
		return !pointer || *(void *const *)slot;
	if (field->label == PROTOBUF_C_LABEL_NONE)
		return !text_field_is_zero(slot, field);
	return pointer ? pointer_is_set(slot, field) : *(const protobuf_c_boolean *)quantifier != 0;
}

const void *text_field_get(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			   size_t i)
{
	const char *slot = member_at(message, field->offset);

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const char *const *)slot + i * text_field_size(field);
	return slot;
}

const ProtobufCFieldDescriptor *text_field_oneof_member(const ProtobufCMessage *message,
							const ProtobufCFieldDescriptor *field)
{
	uint32_t id = *(const uint32_t *)member_at(message, field->quantifier_offset);

	return id ? protobuf_c_message_descriptor_get_field(message->descriptor, id) : NULL;
}

static int text_field_append(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			     const void *value)
{
	char **array = member_at(message, field->offset);
	size_t *n = member_at(message, field->quantifier_offset), size = text_field_size(field);

	if ((*n & (*n - 1)) == 0) {
		char *grown = reallocarray(*array, *n ? *n * 2 : 1, size);

		if (!grown)
			return -ENOMEM;
		*array = grown;
	}
	memcpy(*array + *n * size, value, size);
	++*n;
	return 0;
}

int text_field_put(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		   const void *value)
{
	void *quantifier = member_at(message, field->quantifier_offset);

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return text_field_append(message, field, value);
	if (is_in_oneof(field))
		*(uint32_t *)quantifier = field->id;
	else if (field->label == PROTOBUF_C_LABEL_OPTIONAL &&
		 field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		*(protobuf_c_boolean *)quantifier = true;
	memcpy(member_at(message, field->offset), value, text_field_size(field));
	return 0;
}
