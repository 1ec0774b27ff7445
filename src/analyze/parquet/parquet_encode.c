/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_encode.h"

#include <endian.h>
#include <string.h>

#include "base/core/mem.h"
#include "wire/pb_varint.h"

#define GROUP 8 /* values of a packed group */
#define REPEATS_LEAST 8 /* a shorter run is packed with its neighbours */
#define GROUPS_MAX (1u << 12) /* groups of a packed run */

static void encode_varint(struct strbuf *to, uint64_t v)
{
	uint8_t bytes[10];

	strbuf_add(to, bytes, (size_t)(pb_put_varint(bytes, v) - bytes));
}

void parquet_put_u32(struct strbuf *to, uint32_t v)
{
	uint32_t le = htole32(v);

	strbuf_add(to, &le, sizeof(le));
}

unsigned parquet_bit_width(uint32_t most)
{
	return most ? 32 - (unsigned)__builtin_clz(most) : 0;
}

/* Packs n values of `width` bits, the lowest bits first, and fills the last byte with zeros. */
static void pack_bits(struct strbuf *to, const uint64_t *values, size_t n, unsigned width)
{
	char *out = strbuf_reserve(to, (n * width + 7) / 8);
	unsigned __int128 bits = 0;
	unsigned held = 0;

	if (!out || !width)
		return;
	for (size_t i = 0; i < n; i++) {
		bits |= (unsigned __int128)values[i] << held;
		for (held += width; held >= 8; held -= 8) {
			*out++ = (char)bits;
			bits >>= 8;
		}
	}
	if (held)
		*out++ = (char)bits;
	to->len = (size_t)(out - to->s);
}

static size_t count_repeats(const uint32_t *values, size_t n)
{
	size_t i = 1;

	while (i < n && values[i] == values[0])
		i++;
	return i;
}

/* Returns how many values, in whole groups, come before the next long run of one value. */
static size_t count_packed(const uint32_t *values, size_t n)
{
	size_t i = 0;

	while (i < n && i < GROUPS_MAX * GROUP &&
	       count_repeats(values + i, MIN(n - i, REPEATS_LEAST)) < REPEATS_LEAST)
		i += GROUP;
	return MIN(i, n);
}

static void put_packed(struct strbuf *to, const uint32_t *values, size_t n, unsigned width)
{
	size_t groups = (n + GROUP - 1) / GROUP;

	encode_varint(to, groups << 1 | 1);
	for (size_t g = 0; g < groups; g++) {
		uint64_t group[GROUP] = {0};

		for (size_t i = 0; i < GROUP && g * GROUP + i < n; i++)
			group[i] = values[g * GROUP + i];
		pack_bits(to, group, GROUP, width);
	}
}

void parquet_put_hybrid(struct strbuf *to, const uint32_t *values, size_t n, unsigned width)
{
	for (size_t at = 0; at < n;) {
		size_t repeats = count_repeats(values + at, n - at);

		if (repeats >= REPEATS_LEAST || repeats == n - at) {
			uint32_t le = htole32(values[at]);

			encode_varint(to, repeats << 1);
			strbuf_add(to, &le, (width + 7) / 8);
			at += repeats;
		} else {
			size_t packed = count_packed(values + at, n - at);

			put_packed(to, values + at, packed, width);
			at += packed;
		}
	}
}

#define DELTA_BLOCK 128
#define DELTA_MINIBLOCKS 4
#define DELTA_MINIBLOCK (DELTA_BLOCK / DELTA_MINIBLOCKS)

static unsigned bit_length(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Writes a block of n differences, which have been reduced by the smallest one. */
static void put_delta_block(struct strbuf *to, uint64_t deltas[static DELTA_BLOCK], size_t n,
			    int64_t least)
{
	uint8_t widths[DELTA_MINIBLOCKS] = {0};

	for (size_t i = 0; i < n; i++) {
		unsigned width = bit_length(deltas[i]);

		widths[i / DELTA_MINIBLOCK] = (uint8_t)MAX(widths[i / DELTA_MINIBLOCK], width);
	}
	encode_varint(to, pb_zigzag(least));
	strbuf_add(to, widths, sizeof(widths));
	for (size_t i = 0; i < n; i += DELTA_MINIBLOCK)
		pack_bits(to, deltas + i, DELTA_MINIBLOCK, widths[i / DELTA_MINIBLOCK]);
}

void parquet_put_deltas(struct strbuf *to, const int64_t *values, size_t n)
{
	encode_varint(to, DELTA_BLOCK);
	encode_varint(to, DELTA_MINIBLOCKS);
	encode_varint(to, n);
	encode_varint(to, pb_zigzag(n ? values[0] : 0));
	for (size_t at = 1; at < n; at += DELTA_BLOCK) {
		uint64_t deltas[DELTA_BLOCK] = {0};
		size_t count = MIN(n - at, DELTA_BLOCK);
		int64_t least = INT64_MAX;

		/* The differences wrap around, as does the sum of the reader. */
		for (size_t i = 0; i < count; i++) {
			deltas[i] = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
			least = MIN(least, (int64_t)deltas[i]);
		}
		for (size_t i = 0; i < count; i++)
			deltas[i] -= (uint64_t)least;
		put_delta_block(to, deltas, count, least);
	}
}

void parquet_put_split(struct strbuf *to, const uint64_t *values, size_t n)
{
	char *out = strbuf_reserve(to, n * sizeof(*values));

	if (!out)
		return;
	for (unsigned byte = 0; byte < sizeof(*values); byte++)
		for (size_t i = 0; i < n; i++)
			*out++ = (char)(values[i] >> 8 * byte);
	to->len += n * sizeof(*values);
}
