/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_decode.h"

#include <endian.h>
#include <string.h>

#include "base/core/mem.h"

#define DELTA_BLOCK 128u
#define DELTA_MINIBLOCKS 4u
#define DELTA_MINIBLOCK (DELTA_BLOCK / DELTA_MINIBLOCKS)

bool parquet_read_piece(struct parquet_bytes *b, uint64_t n, struct parquet_bytes *ret)
{
	if (n > (uint64_t)(b->end - b->at))
		return false;
	*ret = (struct parquet_bytes){b->at, b->at + n};
	b->at += n;
	return true;
}

bool parquet_read_u32(struct parquet_bytes *b, uint32_t *ret)
{
	struct parquet_bytes piece;
	uint32_t le;

	if (!parquet_read_piece(b, sizeof(le), &piece))
		return false;
	memcpy(&le, piece.at, sizeof(le));
	*ret = le32toh(le);
	return true;
}

static bool decode_varint(struct parquet_bytes *b, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && b->at < b->end; shift += 7) {
		*ret |= (uint64_t)(*b->at & 0x7f) << shift;
		if (*b->at++ < 0x80)
			return true;
	}
	return false;
}

static bool decode_zigzag(struct parquet_bytes *b, uint64_t *ret)
{
	uint64_t v;

	if (!decode_varint(b, &v))
		return false;
	*ret = v >> 1 ^ -(v & 1);
	return true;
}

/* Unpacks n values of `width` bits, the lowest bits first, from bytes that hold them. */
static void unpack_bits(const uint8_t *from, size_t n, unsigned width, uint64_t *to)
{
	unsigned __int128 bits = 0;
	unsigned held = 0;

	for (size_t i = 0; i < n; i++) {
		for (; held < width; held += 8)
			bits |= (unsigned __int128)*from++ << held;
		to[i] = width == 64 ? (uint64_t)bits
				    : (uint64_t)bits & ((UINT64_C(1) << width) - 1);
		bits >>= width;
		held -= width;
	}
}

static bool read_packed_groups(struct parquet_bytes *b, uint64_t groups, unsigned width,
			       uint32_t *to, size_t n)
{
	struct parquet_bytes piece;

	if (groups > (uint64_t)(b->end - b->at) + 1 || (!width && groups > n) ||
	    !parquet_read_piece(b, groups * width, &piece))
		return false;
	for (size_t done = 0; done < n; done += 8) {
		uint64_t group[8];

		unpack_bits(piece.at + done / 8 * width, 8, width, group);
		for (size_t i = 0; i < 8 && done + i < n; i++)
			to[done + i] = (uint32_t)group[i];
	}
	return true;
}

bool parquet_read_hybrid(struct parquet_bytes *b, uint32_t *to, size_t n, unsigned width)
{
	struct parquet_bytes piece;

	if (width > PARQUET_WIDTH_MAX)
		return false;
	for (size_t done = 0; done < n;) {
		uint64_t head, count;
		uint32_t v = 0;

		if (!decode_varint(b, &head) || head >> 1 == 0)
			return false;
		count = MIN(head & 1 ? (head >> 1) * 8 : head >> 1, (uint64_t)(n - done));
		if (head & 1) {
			if (head >> 1 > n ||
			    !read_packed_groups(b, head >> 1, width, to + done, count))
				return false;
		} else {
			if (!parquet_read_piece(b, (width + 7) / 8, &piece))
				return false;
			for (unsigned i = 0; piece.at < piece.end; i++)
				v |= (uint32_t)*piece.at++ << 8 * i;
			for (uint64_t i = 0; i < count; i++)
				to[done + i] = v;
		}
		done += count;
	}
	return true;
}

bool parquet_read_deltas(struct parquet_bytes *b, uint64_t *to, size_t n)
{
	struct parquet_bytes widths, piece;
	uint64_t block, parts, count, v, least;

	if (!decode_varint(b, &block) || !decode_varint(b, &parts) || !decode_varint(b, &count) ||
	    !decode_zigzag(b, &v) || block != DELTA_BLOCK || parts != DELTA_MINIBLOCKS ||
	    count != n)
		return false;
	if (n)
		to[0] = v;
	for (size_t at = 1; at < n; at += DELTA_BLOCK) {
		size_t end = MIN(at + DELTA_BLOCK, n);

		if (!decode_zigzag(b, &least) || !parquet_read_piece(b, DELTA_MINIBLOCKS, &widths))
			return false;
		for (size_t part = at; part < end; part += DELTA_MINIBLOCK) {
			uint64_t deltas[DELTA_MINIBLOCK];
			unsigned width = *widths.at++;

			if (width > 64 ||
			    !parquet_read_piece(b, DELTA_MINIBLOCK / 8 * width, &piece))
				return false;
			unpack_bits(piece.at, DELTA_MINIBLOCK, width, deltas);
			for (size_t i = 0; i < DELTA_MINIBLOCK && part + i < end; i++)
				to[part + i] = v += deltas[i] + least;
		}
	}
	return true;
}

bool parquet_read_split(struct parquet_bytes *b, uint64_t *to, size_t n)
{
	struct parquet_bytes piece;

	if (!parquet_read_piece(b, n * sizeof(*to), &piece))
		return false;
	memset(to, 0, n * sizeof(*to));
	for (unsigned byte = 0; byte < sizeof(*to); byte++)
		for (size_t i = 0; i < n; i++)
			to[i] |= (uint64_t)*piece.at++ << 8 * byte;
	return true;
}

bool parquet_read_plain(struct parquet_bytes *b, uint64_t *to, size_t n)
{
	struct parquet_bytes piece;

	if (!parquet_read_piece(b, n * sizeof(*to), &piece))
		return false;
	memcpy(to, piece.at, n * sizeof(*to));
	for (size_t i = 0; i < n; i++)
		to[i] = le64toh(to[i]);
	return true;
}
