/* SPDX-License-Identifier: Apache-2.0 */

#include "client/counters/counter_number.h"
#include "unit/test.h"

static struct counter_number parse(const char *s)
{
	struct counter_number v;

	assert_true(counter_number_parse((struct span){s, strlen(s)}, &v));
	return v;
}

static bool refused(const char *s)
{
	struct counter_number v;

	return !counter_number_parse((struct span){s, strlen(s)}, &v);
}

TEST(whole_numbers)
{
	assert_int_equal(parse("0").i, 0);
	assert_int_equal(parse("18").i, 18);
	assert_int_equal(parse("-1").i, -1);
	assert_true(parse("9223372036854775807").i == INT64_MAX);
	assert_false(parse("18").is_double);
}

TEST(numbers_that_do_not_fit_are_the_largest)
{
	assert_true(parse("9223372036854775808").i == INT64_MAX);
	assert_true(parse("18446744073709551615").i == INT64_MAX);
	assert_true(parse("-18446744073709551615").i == -INT64_MAX);
}

TEST(numbers_with_a_point)
{
	assert_true(parse("0.25").is_double);
	assert_true(parse("0.25").d == 0.25);
	assert_true(parse("-3.50").d == -3.5);
	assert_true(parse("7.000000001").d == 7 + 1e-9);
}

TEST(all_else_is_none)
{
	static const char *const bad[] = {
		"",	 "-",	"x",	"1x",		"1 ",
		"+1",	 "1.",	".5",	"1.x",		"1..2",
		"1.2.3", "--1", "0x10", "1.0000000001", "18446744073709551616"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(refused(bad[i]));
}
