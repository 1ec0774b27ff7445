/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unit/test.h"
#include "procfs/process/pid_map.h"

TEST(numbers_come_and_go)
{
	static const int32_t tids[] = {1,
				       63,
				       64,
				       65,
				       PROCESS_SEEN_LEAF - 1,
				       PROCESS_SEEN_LEAF,
				       PROCESS_SEEN_LEAF + 1,
				       PROCESS_SEEN_MAX - 1};
	struct process_seen s = {0};

	for (size_t i = 0; i < sizeof(tids) / sizeof(tids[0]); i++) {
		assert_false(process_seen_has(&s, tids[i]));
		assert_int_equal(process_seen_add(&s, tids[i]), 0);
		assert_int_equal(process_seen_add(&s, tids[i]), 0);
		assert_true(process_seen_has(&s, tids[i]));
	}
	assert_false(process_seen_has(&s, 2));
	process_seen_remove(&s, 64);
	assert_false(process_seen_has(&s, 64));
	assert_true(process_seen_has(&s, 63));
	assert_true(process_seen_has(&s, 65));
	process_seen_clear(&s);
	for (size_t i = 0; i < sizeof(tids) / sizeof(tids[0]); i++)
		assert_false(process_seen_has(&s, tids[i]));
}

TEST(what_is_no_task_is_never_in)
{
	static const int32_t bad[] = {0, -1, INT32_MIN, INT32_MAX, PROCESS_SEEN_MAX};
	struct process_seen s = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(process_seen_add(&s, bad[i]), -ERANGE);
		assert_false(process_seen_has(&s, bad[i]));
		process_seen_remove(&s, bad[i]);
	}
	process_seen_remove(&s, 5);
	for (size_t i = 0; i < sizeof(s.leaf) / sizeof(s.leaf[0]); i++)
		assert_null(s.leaf[i]);
}

TEST(every_number_is_its_own)
{
	struct process_seen s = {0};

	for (int32_t i = 1; i < PROCESS_SEEN_MAX; i += 3)
		assert_int_equal(process_seen_add(&s, i), 0);
	for (int32_t i = 1; i < PROCESS_SEEN_MAX; i++)
		assert_int_equal(process_seen_has(&s, i), i % 3 == 1);
	process_seen_clear(&s);
}
