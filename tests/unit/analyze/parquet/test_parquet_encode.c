/* SPDX-License-Identifier: Apache-2.0 */
/* The encodings of Parquet, read back by decoders that are written after Encodings.md alone. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parquet/parquet_encode.h"
#include "base/core/mem.h"
#include "unit/test.h"

static uint64_t read_varint(const uint8_t **at)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		v |= (uint64_t)(**at & 127) << shift;
		if (*(*at)++ < 128)
			return v;
	}
}

static int64_t read_zigzag(const uint8_t **at)
{
	uint64_t v = read_varint(at);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static uint64_t bits_at(const uint8_t *bytes, size_t index, unsigned width)
{
	uint64_t v = 0;

	for (unsigned b = 0; b < width; b++) {
		size_t bit = index * width + b;

		v |= (uint64_t)(bytes[bit / 8] >> bit % 8 & 1) << b;
	}
	return v;
}

/* Returns true if the bytes are these values, and nothing follows. */
static bool hybrid_is(const struct strbuf *b, const uint64_t *values, size_t n, unsigned width)
{
	const uint8_t *at = (const uint8_t *)b->s, *end = at + b->len;
	size_t got = 0;

	while (got < n) {
		uint64_t head = read_varint(&at), count = head >> 1;

		if (head & 1) {
			for (size_t i = 0; i < count * 8 && got < n; i++)
				if (bits_at(at, i, width) != values[got++])
					return false;
			at += count * width;
		} else {
			uint32_t v = 0;

			for (unsigned i = 0; i < (width + 7) / 8; i++)
				v |= (uint32_t)*at++ << 8 * i;
			while (count--)
				if (got == n || values[got++] != v)
					return false;
		}
	}
	return at == end;
}

static bool deltas_are(const struct strbuf *b, const int64_t *values, size_t n)
{
	const uint8_t *at = (const uint8_t *)b->s, *end = at + b->len;
	uint64_t block = read_varint(&at), parts = read_varint(&at), v;
	size_t got = 1;

	if (block != 128 || parts != 4 || read_varint(&at) != n)
		return false;
	v = (uint64_t)read_zigzag(&at);
	if (n && (int64_t)v != values[0])
		return false;
	while (got < n) {
		uint64_t least = (uint64_t)read_zigzag(&at);
		const uint8_t *widths = at;

		at += parts;
		for (size_t part = 0; part < parts; part++) {
			for (size_t i = 0; i < block / parts && got < n; i++) {
				v += least + bits_at(at, i, widths[part]);
				if ((int64_t)v != values[got++])
					return false;
			}
			at += widths[part] * (block / parts / 8);
		}
	}
	return at == end;
}

TEST(test_hybrid_runs)
{
	uint64_t values[3000];

	for (unsigned width = 1; width <= 17; width += 4)
		for (unsigned shape = 0; shape < 40; shape++) {
			size_t n = shape * 73 % 2999 + 1;
			struct strbuf b = {0};

			srand(shape);
			for (size_t i = 0, run = 0; i<n; i++, run -= run> 0)
				values[i] = run && i ? values[i - 1]
						     : (uint64_t)rand() & ((1u << width) - 1),
				run = run
					      ?: shape % 3 ? (size_t)(rand() % 30)
							   : 0;
			parquet_put_hybrid(&b, values, n, width);
			assert_true(hybrid_is(&b, values, n, width));
			strbuf_deinit(&b);
		}
}

TEST(test_deltas)
{
	static const int64_t extremes[] = {INT64_MIN, INT64_MAX, -1, 0, INT64_MAX, INT64_MIN, 1};
	int64_t values[1000];

	for (size_t n = 0; n < ARRAY_SIZE(values); n += n < 5 ? 1 : 61)
		for (unsigned shape = 0; shape < 8; shape++) {
			struct strbuf b = {0};

			for (size_t i = 0; i < n; i++)
				values[i] = shape / 2 == 0   ? (int64_t)i * 1000
					    : shape / 2 == 1 ? 7
					    : shape / 2 == 2 ? extremes[i % ARRAY_SIZE(extremes)]
							     : (int64_t)rand() - RAND_MAX / 2;
			parquet_put_deltas(&b, values, n, shape & 1);
			assert_true(deltas_are(&b, values, n));
			strbuf_deinit(&b);
		}
}

TEST(test_levels)
{
	uint8_t levels[100];
	uint64_t values[100];

	for (size_t n = 1; n <= ARRAY_SIZE(levels); n++)
		for (unsigned shape = 1; shape < 5; shape++) {
			struct strbuf b = {0};
			uint32_t len;

			for (size_t i = 0; i < n; i++)
				values[i] = levels[i] = i % shape == 0;
			parquet_put_levels(&b, levels, n);
			memcpy(&len, b.s, sizeof(len));
			assert_int_equal(le32toh(len), b.len - sizeof(len));
			memmove(b.s, b.s + sizeof(len), b.len -= sizeof(len));
			assert_true(hybrid_is(&b, values, n, 1));
			strbuf_deinit(&b);
		}
}

TEST(test_split)
{
	static const uint64_t values[] = {0x0102030405060708, 0x1112131415161718};
	struct strbuf b = {0};

	parquet_put_split(&b, values, 2);
	assert_int_equal(b.len, 16);
	assert_memory_equal(b.s, "\x08\x18\x07\x17\x06\x16\x05\x15\x04\x14\x03\x13\x02\x12\x01\x11",
			    16);
	strbuf_deinit(&b);
}

TEST(test_bit_width)
{
	assert_int_equal(parquet_bit_width(0), 0);
	assert_int_equal(parquet_bit_width(1), 1);
	assert_int_equal(parquet_bit_width(255), 8);
	assert_int_equal(parquet_bit_width(256), 9);
	assert_int_equal(parquet_bit_width(UINT32_MAX), 32);
}
