/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_encode.h"

#include <endian.h>
#include <string.h>

#include "base/core/mem.h"
#include "wire/pb_varint.h"

#define GROUP 8 /* values of a packed group */
#define VARINT_MAX 10 /* bytes */
#define SPILL 8 /* bytes that pack_bits() may write beyond its result */

void parquet_put_u32(struct strbuf *to, uint32_t v)
{
	uint32_t le = htole32(v);

	strbuf_add(to, &le, sizeof(le));
}

unsigned parquet_bit_width(uint64_t most)
{
	return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

static void store_le64(uint8_t *to, uint64_t v)
{
	v = htole64(v);
	memcpy(to, &v, sizeof(v));
}

/* Packs n values of `width` bits, the lowest bits first, and fills the last byte with zeros.
 * Returns the end. */
static uint8_t *pack_bits(uint8_t *out, const uint64_t *values, size_t n, unsigned width)
{
	uint64_t bits = 0;
	unsigned held = 0;

	for (size_t i = 0; i < n; i++) {
		bits |= values[i] << held;
		held += width;
		if (held < 64)
			continue;
		store_le64(out, bits);
		out += sizeof(bits);
		held -= 64;
		bits = held ? values[i] >> (width - held) : 0;
	}
	store_le64(out, bits);
	return out + (held + 7) / 8;
}

static size_t count_groups(size_t n)
{
	return (n + GROUP - 1) / GROUP;
}

void parquet_put_hybrid(struct strbuf *to, const uint64_t *values, size_t n, unsigned width)
{
	size_t groups = count_groups(n), same = 1;
	uint8_t *begin = (uint8_t *)strbuf_reserve(to, VARINT_MAX + groups * width + SPILL);
	uint8_t *out = begin, *end;

	if (!out || !n)
		return;
	while (same < n && values[same] == values[0])
		same++;
	if (same == n) {
		out = pb_put_varint(out, n << 1);
		store_le64(out, values[0]);
		end = out + (width + 7) / 8;
	} else {
		out = pb_put_varint(out, groups << 1 | 1);
		end = out + groups * width;
		out = pack_bits(out, values, n, width);
		memset(out, 0, (size_t)(end - out));
	}
	to->len += (size_t)(end - begin);
}

/* Returns the bits of eight bytes that are 0 or 1. */
static uint8_t bits_of_bytes(const uint8_t *bytes)
{
	uint64_t v;

	memcpy(&v, bytes, sizeof(v));
	return (uint8_t)(le64toh(v) * UINT64_C(0x0102040810204080) >> 56);
}

void parquet_put_levels(struct strbuf *to, const uint8_t *levels, size_t n)
{
	size_t groups = count_groups(n);
	uint8_t last[GROUP] = {0}, encoded[VARINT_MAX + 1], *out;

	if (!n || !memchr(levels, !levels[0], n)) {
		out = pb_put_varint(encoded, n << 1);
		*out++ = n ? levels[0] : 0;
		parquet_put_u32(to, (uint32_t)(out - encoded));
		strbuf_add(to, encoded, (size_t)(out - encoded));
		return;
	}
	out = pb_put_varint(encoded, groups << 1 | 1);
	parquet_put_u32(to, (uint32_t)((size_t)(out - encoded) + groups));
	strbuf_add(to, encoded, (size_t)(out - encoded));
	out = (uint8_t *)strbuf_reserve(to, groups);
	if (!out)
		return;
	memcpy(last, levels + (groups - 1) * GROUP, n - (groups - 1) * GROUP);
	for (size_t g = 0; g + 1 < groups; g++)
		*out++ = bits_of_bytes(levels + g * GROUP);
	*out = bits_of_bytes(last);
	to->len += groups;
}

#define DELTA_BLOCK 128
#define DELTA_MINIBLOCKS 4
#define DELTA_MINIBLOCK (DELTA_BLOCK / DELTA_MINIBLOCKS)

/* Writes a block of n differences, which have been reduced by the smallest one. */
static uint8_t *put_delta_block(uint8_t *out, const uint64_t deltas[static DELTA_BLOCK], size_t n,
				int64_t least, bool whole_bytes)
{
	uint8_t *widths = pb_put_varint(out, pb_zigzag(least));

	memset(widths, 0, DELTA_MINIBLOCKS);
	out = widths + DELTA_MINIBLOCKS;
	for (size_t i = 0; i < n; i += DELTA_MINIBLOCK) {
		uint64_t any = 0;
		unsigned width;

		for (size_t j = i; j < i + DELTA_MINIBLOCK; j++)
			any |= deltas[j];
		width = parquet_bit_width(any);
		if (whole_bytes)
			width = (width + 7) / 8 * 8;
		*widths++ = (uint8_t)width;
		out = pack_bits(out, deltas + i, DELTA_MINIBLOCK, width);
	}
	return out;
}

void parquet_put_deltas(struct strbuf *to, const int64_t *values, size_t n, bool whole_bytes)
{
	size_t blocks = n / DELTA_BLOCK + 1;
	uint8_t *out =
		(uint8_t *)strbuf_reserve(to, 4 * VARINT_MAX + SPILL +
						      blocks * (VARINT_MAX + DELTA_MINIBLOCKS +
								DELTA_BLOCK * sizeof(*values)));

	if (!out)
		return;
	out = pb_put_varint(out, DELTA_BLOCK);
	out = pb_put_varint(out, DELTA_MINIBLOCKS);
	out = pb_put_varint(out, n);
	out = pb_put_varint(out, pb_zigzag(n ? values[0] : 0));
	for (size_t at = 1; at < n; at += DELTA_BLOCK) {
		uint64_t deltas[DELTA_BLOCK];
		size_t count = MIN(n - at, DELTA_BLOCK);
		int64_t least = INT64_MAX;

		/* The differences wrap around, as does the sum of the reader. */
		for (size_t i = 0; i < count; i++) {
			deltas[i] = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
			least = MIN(least, (int64_t)deltas[i]);
		}
		for (size_t i = 0; i < count; i++)
			deltas[i] -= (uint64_t)least;
		memset(deltas + count, 0, (DELTA_BLOCK - count) * sizeof(*deltas));
		out = put_delta_block(out, deltas, count, least, whole_bytes);
	}
	to->len = (size_t)((char *)out - to->s);
}

void parquet_put_split(struct strbuf *to, const uint64_t *values, size_t n)
{
	char *out = strbuf_reserve(to, n * sizeof(*values));

	if (!out)
		return;
	for (size_t i = 0; i < n; i++)
		for (unsigned byte = 0; byte < sizeof(*values); byte++)
			out[byte * n + i] = (char)(values[i] >> 8 * byte);
	to->len += n * sizeof(*values);
}
