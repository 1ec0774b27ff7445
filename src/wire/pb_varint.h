/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Parts of protobuf's wire format, for code that writes into its own memory. */

enum {
	PB_WIRE_VARINT = 0,
	PB_WIRE_FIXED64 = 1,
	PB_WIRE_BYTES = 2,
	PB_WIRE_FIXED32 = 5,
};

static inline uint32_t pb_tag(uint32_t field, uint32_t wire_type)
{
	return field << 3 | wire_type;
}

/* Writes 1 to 10 bytes. Returns the byte after them. */
static inline uint8_t *pb_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Writes the varint of v < 2^28 in exactly 4 bytes. */
static inline void pb_put_varint4(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v | 0x80);
	p[1] = (uint8_t)(v >> 7 | 0x80);
	p[2] = (uint8_t)(v >> 14 | 0x80);
	p[3] = (uint8_t)(v >> 21 & 0x7f);
}

static inline unsigned pb_varint_len(uint64_t v)
{
	return (unsigned)(70 - __builtin_clzll(v | 1)) / 7;
}

static inline uint64_t pb_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}
