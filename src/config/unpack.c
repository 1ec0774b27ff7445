/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans the bytes along the descriptors, so that only messages that protobuf-c would unpack count
 * as nested. Other checks (required fields, valid wire types) are left to protobuf-c.
 */
#include "config/unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* Returns true if the message is complete and nests at most `left` further levels. */
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
	size_t bytes;

	return unpack_limited(type, data, len, SIZE_MAX, ret_message, &bytes);
}

/* ---- the limit ---- */

struct budget {
	size_t left;
	bool exceeded;
	bool out_of_memory;
};

static void *allocate_within_budget(void *ctx, size_t size)
{
	struct budget *b = ctx;
	void *p;

	if (size > b->left) {
		b->exceeded = true;
		return NULL;
	}
	b->left -= size;
	p = malloc(size);
	b->out_of_memory |= !p;
	return p;
}

/* protobuf-c frees temporary memory and replaced values here, also in an unpack that succeeds. The
 * budget is not restored: it limits all that was allocated, not what remains. */
static void unpack_release(void *ctx, void *p)
{
	free(p);
}

int unpack_limited(const ProtobufCMessageDescriptor *type, const void *data, size_t len, size_t max,
		   ProtobufCMessage **ret_message, size_t *ret_bytes)
{
	struct budget b = {.left = max};
	/* Compatible with the default allocator, so that any caller can free the message. */
	ProtobufCAllocator allocator = {
		.alloc = allocate_within_budget, .free = unpack_release, .allocator_data = &b};
	ProtobufCMessage *message;

	if (!is_shallow(type, data, len, UNPACK_MAX_DEPTH))
		return -EBADMSG;
	message = protobuf_c_message_unpack(type, &allocator, len, data);
	if (!message)
		return b.exceeded ? -E2BIG : b.out_of_memory ? -ENOMEM : -EBADMSG;
	*ret_message = message;
	*ret_bytes = max - b.left;
	return 0;
}
