/* SPDX-License-Identifier: Apache-2.0 */

#include "base/core/pid_set.h"
#include "unit/test.h"

TEST(ids_are_added_and_removed)
{
	static const int32_t tids[] = {1, 63, 64, 65, 32767, 32768, 32769, PID_LIMIT - 1};
	struct pid_set s = {0};

	for (size_t i = 0; i < sizeof(tids) / sizeof(tids[0]); i++) {
		assert_false(pid_set_has(&s, tids[i]));
		assert_int_equal(pid_set_add(&s, tids[i]), 0);
		assert_int_equal(pid_set_add(&s, tids[i]), 0);
		assert_true(pid_set_has(&s, tids[i]));
	}
	assert_false(pid_set_has(&s, 2));
	pid_set_remove(&s, 64);
	assert_false(pid_set_has(&s, 64));
	assert_true(pid_set_has(&s, 63));
	assert_true(pid_set_has(&s, 65));
	pid_set_clear(&s);
	for (size_t i = 0; i < sizeof(tids) / sizeof(tids[0]); i++)
		assert_false(pid_set_has(&s, tids[i]));
}

TEST(invalid_ids_are_never_in_the_set)
{
	static const int32_t bad[] = {0, -1, INT32_MIN, INT32_MAX, PID_LIMIT};
	struct pid_set s = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(pid_set_add(&s, bad[i]), -ERANGE);
		assert_false(pid_set_has(&s, bad[i]));
		pid_set_remove(&s, bad[i]);
	}
	pid_set_remove(&s, 5);
	assert_null(s.words);
	assert_int_equal(pid_set_reserve(&s), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(pid_set_insert(&s, bad[i]));
	assert_int_equal(pid_set_next(&s, 0), 0);
	pid_set_clear(&s);
}

TEST(every_number_is_its_own)
{
	struct pid_set s = {0};

	for (int32_t i = 1; i < PID_LIMIT; i += 3)
		assert_int_equal(pid_set_add(&s, i), 0);
	for (int32_t i = 1; i < PID_LIMIT; i++)
		assert_int_equal(pid_set_has(&s, i), i % 3 == 1);
	pid_set_clear(&s);
}

TEST(ids_are_visited_in_their_order)
{
	static const int32_t tids[] = {1, 63, 64, 127, 70000, PID_LIMIT - 1};
	struct pid_set s = {0};
	int32_t at = 0;

	assert_int_equal(pid_set_next(&s, 0), 0);
	for (size_t i = 6; i-- > 0;)
		assert_int_equal(pid_set_add(&s, tids[i]), 0);
	for (size_t i = 0; i < 6; i++) {
		at = pid_set_next(&s, at);
		assert_int_equal(at, tids[i]);
	}
	assert_int_equal(pid_set_next(&s, at), 0);
	pid_set_clear(&s);
}
