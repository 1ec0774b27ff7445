/* SPDX-License-Identifier: Apache-2.0 */
#include "service/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int decode_string(const struct pb_field *f, size_t max, char **s)
{
	char *copy;

	if (f->len > max)
		return -EMSGSIZE;
	if (memchr(f->data, '\0', f->len))
		return -EINVAL;
	copy = strndup((const char *)f->data, f->len);
	if (!copy)
		return -ENOMEM;
	free(*s);
	*s = copy;
	return 0;
}

/* protobuf-c recurses as deep as the message does, so the depth is measured first. */
static bool depth_is_good(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t len,
			  unsigned max_depth)
{
	const ProtobufCFieldDescriptor *known;
	struct pb_field f;
	struct pb_dec d;

	if (max_depth == 0)
		return false;
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		known = protobuf_c_message_descriptor_get_field(type, f.id);
		if (known && known->type == PROTOBUF_C_TYPE_MESSAGE && f.data &&
		    !depth_is_good(known->descriptor, f.data, f.len, max_depth - 1))
			return false;
	}
	return pb_dec_ok(&d);
}

bool decode_is_sound(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t len,
		     unsigned max_depth)
{
	ProtobufCMessage *m;

	if (!depth_is_good(type, data, len, max_depth))
		return false;
	m = protobuf_c_message_unpack(type, NULL, len, data);
	if (!m)
		return false;
	protobuf_c_message_free_unpacked(m, NULL);
	return true;
}
