/* SPDX-License-Identifier: Apache-2.0 */

#include "client/counters/counter_number.h"
#include "unit/procfs/captured_log.h"
#include "unit/test.h"

#define WHAT "linux.x_stats: things"

TEST(copies_or_the_fallback)
{
	static const char *const fallback[] = {"a", "b*", NULL};
	char one[] = "c", *strings[] = {one};
	struct counter_patterns p;

	assert_int_equal(counter_patterns_init(&p, WHAT, NULL, 0, fallback), 0);
	assert_int_equal(p.n, 2);
	assert_true(counter_patterns_match(&p, "bc"));
	counter_patterns_deinit(&p);
	assert_int_equal(counter_patterns_init(&p, WHAT, strings, 1, fallback), 0);
	one[0] = 'x'; /* it is a copy */
	assert_true(counter_patterns_match(&p, "c"));
	assert_false(counter_patterns_match(&p, "a"));
	counter_patterns_deinit(&p);
	assert_int_equal(counter_patterns_init(&p, WHAT, NULL, 0, NULL), 0);
	assert_int_equal(p.n, 0);
	assert_false(counter_patterns_match(&p, ""));
	counter_patterns_deinit(&p);
}

TEST(any_text_and_backslashes)
{
	char a[] = "a*z", b[] = "x\\2d[rw]", *strings[] = {a, b};
	struct counter_patterns p;

	assert_int_equal(counter_patterns_init(&p, WHAT, strings, 2, NULL), 0);
	assert_true(counter_patterns_match(&p, "a/b.c z"));
	assert_true(counter_patterns_match(&p, "x\\2dr"));
	assert_false(counter_patterns_match(&p, "x2dr"));
	counter_patterns_deinit(&p);
}

TEST(too_many_and_too_long_are_left_out_and_reported)
{
	static char *strings[COUNTER_PATTERNS_MAX + 2];
	char *longer = malloc(COUNTER_PATTERN_SIZE + 1);
	struct counter_patterns p;

	memset(longer, 'x', COUNTER_PATTERN_SIZE);
	longer[COUNTER_PATTERN_SIZE] = '\0';
	for (size_t i = 0; i < COUNTER_PATTERNS_MAX + 2; i++)
		strings[i] = i == 3 ? longer : longer + COUNTER_PATTERN_SIZE - 1;
	capture_log();
	assert_int_equal(counter_patterns_init(&p, WHAT, strings, COUNTER_PATTERNS_MAX + 2, NULL),
			 0);
	assert_int_equal(captured(WHAT ": 2 of 514 patterns are ignored"), 1);
	assert_int_equal(p.n, COUNTER_PATTERNS_MAX);
	assert_int_equal(p.left_out, 2);
	counter_patterns_deinit(&p);
	free(longer);
}

TEST(what_is_left_out_was_given)
{
	char *longer = malloc(COUNTER_PATTERN_SIZE + 1);
	struct counter_patterns p;

	memset(longer, 'x', COUNTER_PATTERN_SIZE);
	longer[COUNTER_PATTERN_SIZE] = '\0';
	assert_int_equal(counter_patterns_init(&p, WHAT, &longer, 1, NULL), 0);
	assert_int_equal(p.n, 0);
	assert_true(counter_patterns_are_given(&p));
	counter_patterns_deinit(&p);
	assert_int_equal(counter_patterns_init(&p, WHAT, NULL, 0, NULL), 0);
	assert_false(counter_patterns_are_given(&p));
	counter_patterns_deinit(&p);
	free(longer);
}

/* Only of a config: what is recorded by default need not be there. */
TEST(what_matches_nothing_is_reported)
{
	char *strings[] = {(char[]){"Tcp *"}, (char[]){"Tcp InErrs"}, (char[]){"Nope"},
			   (char[]){"*"}};
	const char *const fallback[] = {"a", NULL};
	struct counter_patterns p;

	assert_int_equal(counter_patterns_init(&p, WHAT, strings, 4, NULL), 0);
	assert_true(counter_patterns_match(&p, "Tcp InErrs"));
	capture_log();
	counter_patterns_log_unmatched(&p, WHAT);
	/* Two that fit the same both fit; all there is may be nothing. */
	assert_int_equal(captured(WHAT ": nothing matches 'Nope' so far\n"), 1);
	counter_patterns_deinit(&p);
	assert_int_equal(counter_patterns_init(&p, WHAT, NULL, 0, fallback), 0);
	capture_log();
	counter_patterns_log_unmatched(&p, WHAT);
	assert_int_equal(captured("nothing"), 0);
	counter_patterns_deinit(&p);
}

TEST(many_that_match_nothing_are_counted)
{
	char *strings[100], x[] = "x";
	struct counter_patterns p;

	for (size_t i = 0; i < 100; i++)
		strings[i] = x;
	assert_int_equal(counter_patterns_init(&p, WHAT, strings, 100, NULL), 0);
	capture_log();
	counter_patterns_log_unmatched(&p, WHAT);
	assert_int_equal(captured("'x', 'x' and 92 more so far\n"), 1);
	counter_patterns_deinit(&p);
}
