/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#define UNPACK_MAX_DEPTH 100 /* nested messages */

/*
 * protobuf_c_message_unpack() for untrusted bytes. That function recurses once per nested message,
 * and 128 KiB can nest deeply enough to overflow the stack. Therefore messages nested deeper than
 * UNPACK_MAX_DEPTH are rejected first.
 *
 * Returns 0 (the caller frees with protobuf_c_message_free_unpacked), -EBADMSG if it is not a
 * message of the type or nested too deep, or -ENOMEM.
 */
int unpack_untrusted(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
		     ProtobufCMessage **ret_message);

/* Like unpack_untrusted(), with a memory limit: two bytes of a message may unpack to a structure of
 * a thousand bytes, and 128 KiB to tens of MiB. Returns -E2BIG if it would take more than max
 * bytes. *ret_bytes is the memory that it allocated, including temporary memory. */
int unpack_limited(const ProtobufCMessageDescriptor *type, const void *data, size_t len, size_t max,
		   ProtobufCMessage **ret_message, size_t *ret_bytes);
