/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "config/text_lex.h"

/* A value as stored in a message; text_field_put() copies as many bytes as the field's type has. */
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

/* Reads the tokens of one value and converts them for the field, which must not be a message.
 * Returns false if the value is invalid; the error was reported and the tokens of the value, if
 * any, were read. */
bool text_scalar_read(struct text_parser *p, const ProtobufCFieldDescriptor *field,
		      union text_scalar *ret_v);
/* Frees the memory of a value that was not put into a message. */
void text_scalar_free(const ProtobufCFieldDescriptor *field, union text_scalar *v);

/* Skips the tokens of a value, except a message or list. Reports no errors. */
void text_scalar_skip(struct text_parser *p);
