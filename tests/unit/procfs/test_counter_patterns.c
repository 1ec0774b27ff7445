/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "procfs/counter_patterns.h"

static void copies_or_the_fallback(void **state)
{
	static const char *const fallback[] = {"a", "b*", NULL};
	char one[] = "c", *strings[] = {one};
	struct counter_patterns p;

	(void)state;
	assert_int_equal(counter_patterns_init(&p, NULL, 0, fallback), 0);
	assert_int_equal(p.n, 2);
	assert_true(counter_patterns_match(&p, "bc"));
	counter_patterns_deinit(&p);
	assert_int_equal(counter_patterns_init(&p, strings, 1, fallback), 0);
	one[0] = 'x'; /* it is a copy */
	assert_true(counter_patterns_match(&p, "c"));
	assert_false(counter_patterns_match(&p, "a"));
	counter_patterns_deinit(&p);
	assert_int_equal(counter_patterns_init(&p, NULL, 0, NULL), 0);
	assert_int_equal(p.n, 0);
	assert_false(counter_patterns_match(&p, ""));
	counter_patterns_deinit(&p);
}

static void any_text_and_backslashes(void **state)
{
	char a[] = "a*z", b[] = "x\\2d[rw]", *strings[] = {a, b};
	struct counter_patterns p;

	(void)state;
	assert_int_equal(counter_patterns_init(&p, strings, 2, NULL), 0);
	assert_true(counter_patterns_match(&p, "a/b.c z"));
	assert_true(counter_patterns_match(&p, "x\\2dr"));
	assert_false(counter_patterns_match(&p, "x2dr"));
	counter_patterns_deinit(&p);
}

static void too_many_and_too_long_are_left_out(void **state)
{
	static char *strings[COUNTER_PATTERNS_MAX + 1];
	char *longer = malloc(COUNTER_PATTERN_SIZE + 1);
	struct counter_patterns p;

	(void)state;
	memset(longer, 'x', COUNTER_PATTERN_SIZE);
	longer[COUNTER_PATTERN_SIZE] = '\0';
	for (size_t i = 0; i <= COUNTER_PATTERNS_MAX; i++)
		strings[i] = i == 3 ? longer : longer + COUNTER_PATTERN_SIZE - 1;
	assert_int_equal(counter_patterns_init(&p, strings, COUNTER_PATTERNS_MAX + 1, NULL), 0);
	assert_int_equal(p.n, COUNTER_PATTERNS_MAX - 1);
	counter_patterns_deinit(&p);
	free(longer);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_or_the_fallback),
		cmocka_unit_test(any_text_and_backslashes),
		cmocka_unit_test(too_many_and_too_long_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
