/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "config/text_errors.h"

/* A value as it lies in a message: text_field_put copies as much of it as the field's type has. */
union text_scalar {
	uint32_t u32; /* all 4-byte integers, and enums */
	uint64_t u64; /* all 8-byte integers */
	float f;
	double d;
	protobuf_c_boolean b;
	char *string; /* malloc */
	ProtobufCBinaryData bytes; /* data: malloc */
	ProtobufCMessage *message;
};

/*
 * Reads the tokens of one value and converts them for the field, whose type is any but a message.
 * False when that could not be, which has been complained about. Then the tokens of the value are
 * behind us as far as there was one.
 */
bool text_scalar_read(struct text_parser *p, const ProtobufCFieldDescriptor *field,
		      union text_scalar *ret_v);
/* Frees what a value that was not put into a message holds. */
void text_scalar_drop(const ProtobufCFieldDescriptor *field, union text_scalar *v);

/* Reads over the tokens of a value of any kind but a message or list; complains of nothing. */
void text_scalar_skip(struct text_parser *p);
