/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#define UNPACK_MAX_DEPTH 100 /* messages inside messages */

/*
 * protobuf_c_message_unpack for bytes of another process. That function calls itself for each
 * message inside a message, as deep as the bytes say, and 128 KiB of them say deep enough to
 * overrun the stack. Here what is nested deeper than UNPACK_MAX_DEPTH is refused first.
 *
 * Returns 0 (free with protobuf_c_message_free_unpacked), or -EBADMSG: not a message of the type,
 * nested too deep, or no memory for it, which protobuf-c does not tell apart.
 */
int unpack_untrusted(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
		     ProtobufCMessage **ret_message);

/*
 * The same with a limit: two bytes of a message may say a structure of a thousand, and so 128 KiB
 * tens of MiB. -E2BIG: it would take more than max bytes; *ret_bytes are those that it took.
 */
int unpack_limited(const ProtobufCMessageDescriptor *type, const void *data, size_t len, size_t max,
		   ProtobufCMessage **ret_message, size_t *ret_bytes);
