// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "unit/temp_dir.h"
#include "cli/record/option_values.h"

TEST(test_masks_as_the_kernel_takes_them)
{
	static const struct {
		const char *list, *mask;
	} cases[] = {
		{"0", "1"},
		{"0,2-5", "3d"},
		{"31", "80000000"},
		{"32", "1,00000000"},
		{"0-127", "ffffffff,ffffffff,ffffffff,ffffffff"},
		{"4,4,2-3,3", "1c"},
		{"64,1", "1,00000000,00000002"},
		{"007", "80"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpu_list l = {0};
		struct strbuf b = {0};

		assert_int_equal(cpu_list_add(&l, cases[i].list), 0);
		cpu_list_mask(&l, &b);
		assert_string_equal(b.s, cases[i].mask);
		strbuf_deinit(&b);
	}
}

TEST(test_the_last_cpu_that_there_can_be)
{
	struct cpu_list l = {0};
	struct strbuf b = {0};

	assert_int_equal(cpu_list_add(&l, "0-8191"), 0);
	cpu_list_mask(&l, &b);
	assert_int_equal(b.len, 256 * 9 - 1);
	strbuf_deinit(&b);
	assert_int_equal(cpu_list_add(&l, "8192"), -ERANGE);
	assert_int_equal(cpu_list_add(&l, "0-99999999999999999999"), -ERANGE);
}

TEST(test_what_is_no_list)
{
	static const char *const bad[] = {"",	   ",",	  "0,",	 ",0", "0,,1", "1-", "-1",   "3-1",
					  "1-2-3", "0 1", "0x1", "a",  "1;2",  "+1", "0-\n", "all"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cpu_list l = {0};

		if (cpu_list_add(&l, bad[i]) != -EINVAL)
			fail_msg("'%s' was accepted", bad[i]);
	}
}

TEST(test_lists_add_up)
{
	struct cpu_list l = {0};
	struct strbuf b = {0};

	assert_int_equal(cpu_list_add(&l, "0"), 0);
	assert_int_equal(cpu_list_add(&l, "3"), 0);
	cpu_list_mask(&l, &b);
	assert_string_equal(b.s, "9");
	strbuf_deinit(&b);
}

static void write_present(void **state, const char *text)
{
	FILE *f = fopen(temp_dir_path(state, 0, "devices/system/cpu/present"), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

TEST_WITH(test_a_cpu_that_the_machine_does_not_have, temp_dir_setup, temp_dir_teardown)
{
	struct cpu_list l = {0};
	struct err_text e;

	assert_int_equal(cpu_list_add(&l, "0-2,9"), 0);
	assert_int_equal(cpu_list_check(&l, *state, &e), 0); /* it does not tell */
	mkdir(temp_dir_path(state, 0, "devices"), 0700);
	mkdir(temp_dir_path(state, 0, "devices/system"), 0700);
	mkdir(temp_dir_path(state, 0, "devices/system/cpu"), 0700);
	write_present(state, "0-7\n");
	assert_int_equal(cpu_list_check(&l, *state, &e), -ENXIO);
	assert_string_equal(e.text, "-C: this machine has no CPU 9; it has 0-7");
	l = (struct cpu_list){0};
	assert_int_equal(cpu_list_add(&l, "0,7"), 0);
	assert_int_equal(cpu_list_check(&l, *state, &e), 0);
	write_present(state, "garbage\n");
	assert_int_equal(cpu_list_check(&l, *state, &e), 0);
	write_present(state, "");
	assert_int_equal(cpu_list_check(&l, *state, &e), 0);
}

TEST(test_this_machine_has_a_first_cpu)
{
	struct cpu_list l = {0};
	struct err_text e;

	assert_int_equal(cpu_list_add(&l, "0"), 0);
	assert_int_equal(cpu_list_check(&l, "/sys", &e), 0);
}
