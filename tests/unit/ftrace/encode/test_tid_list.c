// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include "unit/test.h"
#include "ftrace/encode/metadata.c"

TEST(test_each_thread_once_until_the_clear)
{
	static const int32_t seen[] = {5, 6, 5, 64, 63, 65, 5, (int32_t)PID_LIMIT - 1, 1};
	static const int32_t want[] = {5, 6, 64, 63, 65, (int32_t)PID_LIMIT - 1, 1};
	struct tid_list s;

	assert_int_equal(tid_list_init(&s, 100), 0);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(seen); i++)
			tid_list_add(&s, seen[i]);
		assert_int_equal(s.n, ARRAY_SIZE(want));
		assert_memory_equal(s.tids, want, sizeof(want));
		tid_list_clear(&s);
		assert_int_equal(s.n, 0);
	}
	tid_list_deinit(&s);
}

TEST(test_what_is_no_thread)
{
	static const int32_t none[] = {0, -1, INT32_MIN, INT32_MAX, (int32_t)PID_LIMIT};
	struct tid_list s;

	assert_int_equal(tid_list_init(&s, 100), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(none); i++)
		tid_list_add(&s, none[i]);
	assert_int_equal(s.n, 0);
	tid_list_deinit(&s);
}

TEST(test_a_full_set_remembers_no_more)
{
	struct tid_list s;

	assert_int_equal(tid_list_init(&s, 3), 0);
	for (int32_t i = 1; i < 10; i++)
		tid_list_add(&s, i);
	assert_int_equal(s.n, 3);
	tid_list_clear(&s);
	/* Those that found no room are new now. */
	tid_list_add(&s, 9);
	assert_int_equal(s.n, 1);
	tid_list_deinit(&s);
}

TEST(test_some_are_taken_out)
{
	struct tid_list s;

	assert_int_equal(tid_list_init(&s, 10), 0);
	for (int32_t i = 1; i <= 6; i++)
		tid_list_add(&s, i);
	pid_set_remove(&s.seen, 1);
	pid_set_remove(&s.seen, 4);
	pid_set_remove(&s.seen, 4);
	pid_set_remove(&s.seen, 100); /* not there */
	pid_set_remove(&s.seen, -1);
	pid_set_remove(&s.seen, (int32_t)PID_LIMIT);
	tid_list_close_up(&s);
	assert_int_equal(s.n, 4);
	assert_memory_equal(s.tids, ((int32_t[]){2, 3, 5, 6}), 4 * sizeof(int32_t));
	tid_list_add(&s, 4);
	tid_list_add(&s, 5);
	assert_int_equal(s.n, 5);
	tid_list_clear(&s);
	for (int32_t i = 1; i <= 6; i++)
		tid_list_add(&s, i);
	assert_int_equal(s.n, 6);
	tid_list_deinit(&s);
}

TEST(test_all_of_one_into_another)
{
	struct tid_list from, to;

	assert_int_equal(tid_list_init(&from, 10), 0);
	assert_int_equal(tid_list_init(&to, 4), 0);
	tid_list_add(&to, 1);
	for (int32_t i = 1; i <= 6; i++)
		tid_list_add(&from, i);
	tid_list_move(&from, &to);
	assert_int_equal(from.n, 0);
	assert_int_equal(to.n, 4);
	assert_memory_equal(to.tids, ((int32_t[]){1, 2, 3, 4}), 4 * sizeof(int32_t));
	tid_list_add(&from, 1);
	assert_int_equal(from.n, 1);
	tid_list_deinit(&from);
	tid_list_deinit(&to);
}
