/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_readback.c"
#include "unit/test.h"

static int put(struct packet_join *j, const char *data, size_t len, bool ends, const uint8_t **p,
	       size_t *n)
{
	return packet_join_slice(j, (const uint8_t *)data, len, ends, p, n);
}

TEST(test_slices_become_one_packet)
{
	struct packet_join j = {0};
	const uint8_t *p = NULL;
	size_t n = 0;
	int round;

	for (round = 0; round < 3; round++) {
		assert_int_equal(put(&j, "abc", 3, false, &p, &n), 0);
		assert_true(packet_join_is_inside(&j));
		assert_int_equal(put(&j, NULL, 0, false, &p, &n), 0);
		assert_int_equal(put(&j, "de", 2, false, &p, &n), 0);
		assert_int_equal(put(&j, "f", 1, true, &p, &n), 1);
		assert_int_equal(n, 6);
		assert_memory_equal(p, "abcdef", 6);
		assert_false(packet_join_is_inside(&j));
		/* A whole one between two parts. */
		assert_int_equal(put(&j, "xy", 2, true, &p, &n), 1);
		assert_memory_equal(p, "xy", 2);
	}
	packet_join_deinit(&j);
}

/* The trusted fields come as a slice of their own, and an end may come alone. */
TEST(test_an_empty_last_slice_ends_the_packet)
{
	struct packet_join j = {0};
	const uint8_t *p = NULL;
	size_t n = 9;

	assert_int_equal(put(&j, "abc", 3, false, &p, &n), 0);
	assert_int_equal(put(&j, NULL, 0, true, &p, &n), 1);
	assert_int_equal(n, 3);
	assert_int_equal(put(&j, NULL, 0, true, &p, &n), 1); /* a packet of nothing */
	assert_int_equal(n, 0);
	packet_join_deinit(&j);
}

TEST(test_a_packet_has_a_limit)
{
	struct packet_join j = {.len = PACKET_JOIN_MAX}; /* as if so much had come */
	const uint8_t *p;
	size_t n;

	assert_int_equal(put(&j, "x", 1, false, &p, &n), -EFBIG);
	assert_int_equal(put(&j, "x", 1, true, &p, &n), -EFBIG);
	j.len = 1;
	assert_int_equal(put(&j, "x", SIZE_MAX, true, &p, &n), -EFBIG);
}
