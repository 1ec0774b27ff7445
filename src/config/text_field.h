/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/*
 * Where the value of a field lies in a protobuf-c message, and what says that it is there:
 *
 *	label      type              present            offset holds
 *	optional   string, message   pointer not NULL   the pointer; a default is borrowed
 *	optional   others            has_x              the value
 *	in oneof   any               x_case == id       the value or pointer
 *	repeated   any               n_x                an array of n_x values or pointers
 *	required   any               always             the value or pointer
 *	none       any               not zero           the value or pointer
 */

/* Number of values: 0 or 1, of a repeated field any. */
size_t text_field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
/* Value i < count. */
const void *text_field_get(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			   size_t i);

/* Of a field in a oneof: the member that is set, or NULL. */
const ProtobufCFieldDescriptor *text_field_member(const ProtobufCMessage *message,
						  const ProtobufCFieldDescriptor *field);

/*
 * Copies a value in as protobuf_c_message_unpack would have: sets or appends it. Memory that it
 * points to is the message's from then on. Only for a message that began empty and was filled by
 * this function alone. Returns 0, or -ENOMEM with nothing changed.
 */
int text_field_put(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		   const void *value);
