/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "wire/pb_varint.h"

/*
 * Writes the parts of one event as protobuf to plain memory, without bounds checks: the caller
 * guarantees the room.
 *
 * A nested message reserves one byte for its length. Most events are shorter than 128 bytes;
 * longer ones are moved up by the extra bytes of their length.
 */
#define UNCHECKED_LEN_MAX 5 /* bytes of a length */

/* Spreads up to 28 bits to groups of seven, one per byte, the lowest first. */
static inline uint32_t unchecked_spread28(uint32_t v)
{
	uint32_t x = (v & 0x0fffc000) << 2 | (v & 0x00003fff);

	return (x & 0x3f803f80) << 1 | (x & 0x007f007f);
}

/* Spreads up to 56 bits to groups of seven, one per byte, the lowest first. */
static inline uint64_t unchecked_spread56(uint64_t v)
{
	uint64_t x = (v & 0x00fffffff0000000) << 4 | (v & 0x000000000fffffff);

	x = (x & 0x0fffc0000fffc000) << 2 | (x & 0x00003fff00003fff);
	return (x & 0x3f803f803f803f80) << 1 | (x & 0x007f007f007f007f);
}

#define UNCHECKED_MORE32 0x80808080u
#define UNCHECKED_MORE64 0x8080808080808080ull

/* Writes a varint of 57 bits or more, such as a kernel address or a negative number: 9 or 10
 * bytes. */
static inline uint8_t *unchecked_put_long_varint(uint8_t *p, uint64_t v)
{
	uint64_t x = unchecked_spread56(v & ((1ull << 56) - 1)) | UNCHECKED_MORE64;

	memcpy(p, &x, sizeof(x));
	p[8] = (uint8_t)(v >> 56);
	p[9] = (uint8_t)(v >> 63);
	return p + 9 + (v >> 63);
}

/* Writes a varint whose value is large, such as a time. Spreads its groups over eight bytes in
 * three steps, without a branch per byte. Touches 8 bytes, or as many as the value needs. */
static inline uint8_t *unchecked_put_wide_varint(uint8_t *p, uint64_t v)
{
	uint64_t x;
	unsigned top; /* bits below the last byte */

	if (__builtin_expect(v >> 56 != 0, 0))
		return unchecked_put_long_varint(p, v);
	x = unchecked_spread56(v);
	top = (63 - (unsigned)__builtin_clzll(x | 1)) & 56;
	x |= UNCHECKED_MORE64 & ((1ull << top) - 1);
	memcpy(p, &x, sizeof(x));
	return p + 1 + top / 8;
}

/* Writes a varint whose length is unpredictable, such as the time between two events. Spreads up
 * to 28 bits over four bytes without a branch. Touches 4 bytes, or as unchecked_put_wide_varint. */
static inline uint8_t *unchecked_put_mixed_varint(uint8_t *p, uint64_t v)
{
	uint32_t x, top;

	if (__builtin_expect(v >> 28 != 0, 0))
		return unchecked_put_wide_varint(p, v);
	x = unchecked_spread28((uint32_t)v);
	top = (31 - (unsigned)__builtin_clz(x | 1)) & 24; /* bits below the last byte */
	x |= UNCHECKED_MORE32 & ((1u << top) - 1);
	memcpy(p, &x, sizeof(x));
	return p + 1 + top / 8;
}

/* Writes a varint that is mostly a small number. Touches 1 byte, or as
 * unchecked_put_mixed_varint. */
static inline uint8_t *unchecked_put_varint(uint8_t *p, uint64_t v)
{
	if (__builtin_expect(v < 0x80, 1)) {
		*p = (uint8_t)v;
		return p + 1;
	}
	return unchecked_put_mixed_varint(p, v);
}

/* Writes a tag of up to 2 bytes, as made by unchecked_tag. Always touches 2 bytes. */
static inline uint8_t *unchecked_put_tag(uint8_t *p, uint16_t tag, uint8_t tag_len)
{
	memcpy(p, &tag, sizeof(tag));
	return p + tag_len;
}

/* Encodes a tag to an integer in memory order. Returns the number of its bytes. */
static inline uint8_t unchecked_tag(uint32_t field, uint32_t wire_type, uint32_t *ret_bytes)
{
	uint8_t bytes[8] = {0};
	uint8_t len = (uint8_t)(pb_put_varint(bytes, pb_tag(field, wire_type)) - bytes);

	memcpy(ret_bytes, bytes, sizeof(*ret_bytes));
	return len;
}

/* Closes a nested message. Open it with `uint8_t *msg = p++;` after the tag. Returns the end of
 * the message. */
static inline uint8_t *unchecked_close(uint8_t *msg, uint8_t *p)
{
	size_t len = (size_t)(p - msg) - 1;
	unsigned extra;

	if (len < 0x80) {
		*msg = (uint8_t)len;
		return p;
	}
	extra = pb_varint_len(len) - 1;
	memmove(msg + 1 + extra, msg + 1, len);
	pb_put_varint(msg, len);
	return p + extra;
}
