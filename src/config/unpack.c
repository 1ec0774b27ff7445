/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through the bytes along the descriptors, so that only what protobuf-c would enter counts as
 * nested. Its own checks (required fields, known wire types) are left to it.
 */
#include "config/unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* Whole, and at most `left` levels of messages inside this one. */
static bool is_shallow(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t len,
		       unsigned left)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(type, f.id);

		if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE ||
		    f.wire_type != PB_WIRE_BYTES)
			continue;
		if (left == 0 || !is_shallow(field->descriptor, f.data, f.len, left - 1))
			return false;
	}
	return pb_dec_ok(&d);
}

int unpack_untrusted(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
		     ProtobufCMessage **ret_message)
{
	ProtobufCMessage *message;

	if (!is_shallow(type, data, len, UNPACK_MAX_DEPTH))
		return -EBADMSG;
	message = protobuf_c_message_unpack(type, NULL, len, data);
	if (!message)
		return -EBADMSG;
	*ret_message = message;
	return 0;
}
