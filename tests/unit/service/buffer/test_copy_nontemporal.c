/* SPDX-License-Identifier: Apache-2.0 */

#include "service/buffer/copy_nontemporal.h"
#include "unit/test.h"

enum { ROOM = 512, MAX_LEN = 4 * COPY_CACHE_LINE + 1 };

static _Alignas(COPY_CACHE_LINE) uint8_t from[ROOM], to[ROOM], wanted[ROOM];

static void check_copy(size_t at, size_t of, size_t len)
{
	memset(to, 0xee, ROOM);
	memset(wanted, 0xee, ROOM);
	memcpy(wanted + at, from + of, len);
	copy_nontemporal(to + at, from + of, len);
	assert_memory_equal(to, wanted, ROOM);
}

TEST(every_length_to_every_place_in_a_line)
{
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 31);
	for (size_t len = 0; len <= MAX_LEN; len++)
		for (size_t at = 0; at < COPY_CACHE_LINE; at++)
			check_copy(at, len % 17, len);
}

TEST(what_comes_next_is_seen)
{
	check_copy(16, 16, 256);
	to[20] = 1;
	copy_nontemporal(to + 24, from, 200);
	assert_int_equal(to[20], 1);
	assert_memory_equal(to + 24, from, 200);
}
