/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/pb_unchecked.h"
#include "unit/test.h"

/* Each length's first and last value, and what lies beside powers of two. */
static unsigned values(uint64_t *ret)
{
	unsigned n = 0;

	ret[n++] = 0;
	for (unsigned bit = 0; bit < 64; bit++) {
		ret[n++] = (1ull << bit) - 1;
		ret[n++] = 1ull << bit;
		ret[n++] = (1ull << bit) + 1;
		ret[n++] = (1ull << bit) * 3 + 0x5a;
		ret[n++] = ~(1ull << bit);
	}
	ret[n++] = UINT64_MAX;
	return n;
}

static void compare(uint8_t *(*put)(uint8_t *p, uint64_t v), uint64_t limit)
{
	uint8_t want[16], have[16];
	uint64_t v[400];
	size_t len;

	for (unsigned i = 0, n = values(v); i < n; i++) {
		if (v[i] < limit)
			continue;
		len = (size_t)(pb_put_varint(want, v[i]) - want);
		memset(have, 0xaa, sizeof(have));
		assert_int_equal(put(have, v[i]) - have, len);
		assert_memory_equal(have, want, len);
		/* Not a byte beyond what the header says. */
		for (size_t at = len > 8 ? len : 8; at < sizeof(have); at++)
			assert_int_equal(have[at], at == 9 && v[i] >> 56 ? have[9] : 0xaa);
	}
}

TEST(every_way_writes_the_same_varint)
{
	compare(unchecked_put_varint, 0);
	compare(unchecked_put_mixed_varint, 0);
	compare(unchecked_put_wide_varint, 0);
	compare(unchecked_put_long_varint, 1ull << 56);
}

TEST(a_message_may_need_a_longer_length)
{
	static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384};
	static uint8_t bytes[16384 + UNCHECKED_LEN_MAX], len[10];

	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t n = lengths[i], len_len = (size_t)(pb_put_varint(len, n) - len);

		for (size_t at = 0; at < n; at++)
			bytes[1 + at] = (uint8_t)(at * 7);
		assert_ptr_equal(unchecked_close(bytes, bytes + 1 + n), bytes + len_len + n);
		assert_memory_equal(bytes, len, len_len);
		for (size_t at = 0; at < n; at++)
			assert_int_equal(bytes[len_len + at], (uint8_t)(at * 7));
	}
}
