/* SPDX-License-Identifier: Apache-2.0 */

#include "service/ipc/limits.h"
#include "service/session/name_regex.h"
#include "unit/test.h"

static bool accepted_and_matches(const char *pattern, const char *name)
{
	uint64_t budget = NAME_REGEX_STEPS;
	struct err_text e;

	if (name_regex_check(pattern, &e) < 0)
		fail_msg("%s", e.text);
	return name_regex_matches(pattern, name, &budget);
}

TEST(whole_name_is_meant)
{
	assert_true(accepted_and_matches("perfetto\\.traced_probes", "perfetto.traced_probes"));
	assert_false(accepted_and_matches("perfetto\\.traced_probes", "perfetto-traced_probes"));
	assert_true(accepted_and_matches("foo|foobar", "foobar"));
	assert_true(accepted_and_matches("foo|foobar", "foo"));
	assert_false(accepted_and_matches("foo|bar", "foox"));
	assert_false(accepted_and_matches("foo|bar", "xbar"));
	assert_false(accepted_and_matches("a", "a\nb"));
	assert_true(accepted_and_matches("(com\\.app\\w*){1,4}", "com.app1com.app2"));
	assert_true(accepted_and_matches(".*", ""));
	assert_false(accepted_and_matches("", "a"));
}

TEST(what_is_no_expression_is_refused)
{
	uint64_t budget = NAME_REGEX_STEPS;
	struct err_text e;

	assert_int_equal(name_regex_check("a(", &e), -EINVAL);
	assert_non_null(strstr(e.text, "\"a(\""));
	assert_false(name_regex_matches("a(", "a(", &budget));
}

/* The dearest that are accepted, on the longest name: none is given up. */
TEST(worst_cases_have_an_answer)
{
	char name[MAX_NAME_BYTES + 1];

	memset(name, 'a', MAX_NAME_BYTES);
	name[MAX_NAME_BYTES] = '\0';
	assert_true(accepted_and_matches("(a?a?a?a?a?a?a?a?a?a?){13}.*", name));
	assert_true(accepted_and_matches("(.*){110}", name));
}

TEST(same_pair_is_matched_once)
{
	const char *pattern = "(a?a?a?a?a?){20}b";
	uint64_t budget = NAME_REGEX_STEPS, left;

	assert_false(name_regex_matches(pattern, "aaaaaaaaaaaaaaaaaaaa", &budget));
	assert_true(budget < NAME_REGEX_STEPS);
	left = budget;
	assert_false(name_regex_matches(pattern, "aaaaaaaaaaaaaaaaaaaa", &budget));
	assert_int_equal(budget, left);
	assert_true(name_regex_matches(pattern, "aab", &budget));
	assert_true(budget < left);
}

/* Both names take the same steps, and the first one those of the compilation in addition. */
TEST(same_expression_is_compiled_once)
{
	const char *pattern = "compiled.once[0-9]";
	uint64_t budget = NAME_REGEX_STEPS, first, second;

	assert_false(name_regex_matches(pattern, "compiled-onceA", &budget));
	first = NAME_REGEX_STEPS - budget;
	budget = NAME_REGEX_STEPS;
	assert_false(name_regex_matches(pattern, "compiled-onceB", &budget));
	second = NAME_REGEX_STEPS - budget;
	assert_true(second > 0);
	assert_true(second < first);
}

TEST(nothing_matches_without_steps_left)
{
	uint64_t budget = 10;

	assert_false(name_regex_matches("never.seen", "never.seen", &budget));
	assert_int_equal(budget, 0);
	budget = NAME_REGEX_STEPS;
	assert_true(name_regex_matches("never.seen", "never.seen", &budget));
}
