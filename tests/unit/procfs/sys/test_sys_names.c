/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/sys/sys_file.h"

static struct sys_names names;

SETUP
{
	proc_new();
}

TEARDOWN
{
	sys_names_deinit(&names);
	proc_remove_all();
}

FIXTURE_TEST(in_the_order_of_their_numbers)
{
	static const char *const all[] = {"zone10", "zone2", "zone", "zone2b", "cooling1", "zone1"};
	static const char *const with_digits[] = {"zone1", "zone2", "zone10"};
	struct sys_names any;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		proc_put("", 0, "%s/type", all[i]);
	assert_int_equal(sys_names_read(&names, proc_root, "zone", true), 0);
	assert_int_equal(names.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(names.names[i], with_digits[i]);
	assert_int_equal(sys_names_read(&any, proc_root, "zone", false), 0);
	assert_int_equal(any.n, 5);
	assert_false(sys_names_equal(&names, &any));
	assert_true(sys_names_equal(&any, &any));
	sys_names_deinit(&any);
	assert_int_equal(sys_names_read(&any, proc_root, "cool", false), 0);
	assert_string_equal(any.names[0], "cooling1");
	sys_names_deinit(&any);
}

FIXTURE_TEST(a_name_of_another_number_is_another_list)
{
	struct sys_names other;

	proc_put("", 0, "a1");
	assert_int_equal(sys_names_read(&names, proc_root, "a", true), 0);
	proc_remove("a1");
	proc_put("", 0, "a2");
	assert_int_equal(sys_names_read(&other, proc_root, "a", true), 0);
	assert_int_equal(names.n, other.n);
	assert_false(sys_names_equal(&names, &other));
	sys_names_deinit(&other);
}

FIXTURE_TEST(no_folder_and_an_empty_one)
{
	struct sys_names other = {0};

	assert_int_equal(sys_names_read(&names, "/nonexistent", "", false), -ENOENT);
	assert_int_equal(names.n, 0);
	assert_int_equal(sys_names_read(&names, proc_root, "", false), 0);
	assert_true(sys_names_equal(&names, &other));
}

FIXTURE_TEST(the_number_of_a_name)
{
	assert_int_equal(sys_names_number("cpu0", "cpu"), 0);
	assert_int_equal(sys_names_number("cpu4294967294", "cpu"), 4294967294u);
	assert_int_equal(sys_names_number("cpu", "cpu"), UINT32_MAX);
	assert_int_equal(sys_names_number("cpuidle", "cpu"), UINT32_MAX);
	assert_int_equal(sys_names_number("cpu-1", "cpu"), UINT32_MAX);
	assert_int_equal(sys_names_number("cpu4294967296", "cpu"), UINT32_MAX);
	assert_int_equal(sys_names_number("gpu1", "cpu"), UINT32_MAX);
}

FIXTURE_TEST(more_than_are_taken)
{
	for (unsigned i = 0; i < SYS_NAMES_MAX + 5; i++)
		proc_put("", 0, "n%u", i);
	assert_int_equal(sys_names_read(&names, proc_root, "n", true), 0);
	assert_int_equal(names.n, SYS_NAMES_MAX);
}
