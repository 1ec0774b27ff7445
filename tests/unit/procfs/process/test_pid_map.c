/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "procfs/process/pid_map.h"

TEST(a_number_for_each)
{
	static const int32_t tids[] = {1, 2, PID_LEAF - 1, PID_LEAF, 5000, 70000, PID_LIMIT - 1};
	static struct pid_map m;

	for (size_t i = 0; i < ARRAY_SIZE(tids); i++) {
		assert_int_equal(pid_map_get(&m, tids[i]), 0);
		assert_int_equal(pid_map_set(&m, tids[i], (int32_t)i + 1), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tids); i++)
		assert_int_equal(pid_map_get(&m, tids[i]), i + 1);
	assert_int_equal(pid_map_get(&m, 3), 0);
	assert_int_equal(pid_map_set(&m, 2, -7), 0);
	assert_int_equal(pid_map_get(&m, 2), -7);
	assert_int_equal(pid_map_set(&m, 2, 0), 0);
	assert_int_equal(pid_map_get(&m, 2), 0);
	pid_map_clear(&m);
	assert_int_equal(pid_map_get(&m, 1), 0);
	/* A zero takes no room. */
	assert_int_equal(pid_map_set(&m, 1, 0), 0);
	assert_null(m.leaves.of[0]);
	pid_map_clear(&m);
}

TEST(numbers_that_are_no_tasks)
{
	static const int32_t none[] = {0, -1, INT32_MIN, INT32_MAX, PID_LIMIT};
	static struct pid_map m;

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		assert_int_equal(pid_map_set(&m, none[i], 1), -ERANGE);
		assert_int_equal(pid_map_get(&m, none[i]), 0);
	}
}

TEST(threads_map_to_processes_and_processes_to_parents)
{
	static struct pid_relations k;

	assert_int_equal(pid_relations_tgid(&k, 70), 0);
	assert_int_equal(pid_relations_parent(&k, 70), PID_NO_PARENT);
	pid_relations_put_process(&k, 70, 7);
	pid_relations_put_thread(&k, 71, 70);
	pid_relations_put_process(&k, 1, 0);
	pid_relations_put_process(&k, 80, PID_NO_PARENT);
	assert_int_equal(pid_relations_tgid(&k, 70), 70);
	assert_int_equal(pid_relations_parent(&k, 70), 7);
	assert_int_equal(pid_relations_tgid(&k, 71), 70);
	assert_int_equal(pid_relations_parent(&k, 71), PID_NO_PARENT);
	assert_int_equal(pid_relations_tgid(&k, 1), 1);
	assert_int_equal(pid_relations_parent(&k, 1), 0);
	assert_int_equal(pid_relations_tgid(&k, 80), 80);
	assert_int_equal(pid_relations_parent(&k, 80), PID_NO_PARENT);
	pid_relations_forget(&k, 70);
	assert_int_equal(pid_relations_tgid(&k, 70), 0);
	pid_map_clear(&k.map);
}

TEST(a_task_begins_and_ends_and_another_begins)
{
	static struct pid_times t;

	assert_int_equal(pid_times_get(&t, 70).began_ns, 0);
	assert_int_equal(pid_times_get(&t, PID_LIMIT).ended_ns, 0);
	pid_times_put_end(&t, 70, 5);
	assert_int_equal(pid_times_get(&t, 70).began_ns, 0);
	assert_int_equal(pid_times_get(&t, 70).ended_ns, 5);
	pid_times_put_begin(&t, 71, UINT64_MAX - 1);
	pid_times_put_end(&t, 71, UINT64_MAX);
	assert_int_equal(pid_times_get(&t, 71).began_ns, UINT64_MAX - 1);
	assert_int_equal(pid_times_get(&t, 71).ended_ns, UINT64_MAX);
	pid_times_put_begin(&t, 70, 9);
	assert_int_equal(pid_times_get(&t, 70).began_ns, 9);
	assert_int_equal(pid_times_get(&t, 70).ended_ns, 0);
	pid_times_clear(&t);
	assert_int_equal(pid_times_get(&t, 71).ended_ns, 0);
}
