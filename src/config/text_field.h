/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/*
 * Location of a field's value in a protobuf-c message, and how its presence is stored:
 *
 *	label      type              present            offset holds
 *	optional   string, message   pointer not NULL   the pointer; a default is borrowed
 *	optional   others            has_x              the value
 *	in oneof   any               x_case == id       the value or pointer
 *	repeated   any               n_x                an array of n_x values or pointers
 *	required   any               always             the value or pointer
 *	none       any               not zero           the value or pointer
 */

/* Returns the bytes of one value in the struct or array. */
size_t text_field_size(const ProtobufCFieldDescriptor *field);
/* Returns the number of values: 0 or 1, or any number for a repeated field. */
size_t text_field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
/* Returns value i; i must be less than the count. */
const void *text_field_get(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			   size_t i);

/* For a field in a oneof: returns the member that is set, or NULL. */
const ProtobufCFieldDescriptor *text_field_oneof_member(const ProtobufCMessage *message,
							const ProtobufCFieldDescriptor *field);

/* Sets a field, or appends to it, as protobuf_c_message_unpack() does. The message takes ownership
 * of memory that the value points to. The message must have been empty at first and filled by this
 * function only. Returns 0, or -ENOMEM and changes nothing. */
int text_field_put(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		   const void *value);
