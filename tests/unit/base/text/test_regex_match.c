/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text/regex.h"
#include "unit/test.h"

#define STEPS (1u << 24)

/* What the groups hold, as "0-3 1-2 -"; "none" without a match. The text ends at its NUL unless a
 * length is given. */
static const char *groups_of(const char *pattern, enum regex_mode mode, const char *text,
			     size_t len, size_t from)
{
	static char all[512];
	struct regex_span spans[REGEX_MAX_GROUPS];
	uint64_t steps = STEPS;
	struct regex *re;
	struct err_text e;
	size_t n, used = 0;
	int r;

	if (regex_new(pattern, &e, &re) < 0)
		fail_msg("%s", e.text);
	n = regex_groups(re);
	r = regex_match(re, mode, text, len, from, spans, &steps);
	assert_true(r == 0 || r == 1);
	/* The same without groups. */
	assert_int_equal(regex_match(re, mode, text, len, from, NULL, &steps), r);
	regex_free(re);
	if (r == 0)
		return "none";
	for (size_t i = 0; i < n; i++)
		if (spans[i].begin == REGEX_UNSET)
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s-",
						 i ? " " : "");
		else
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%zu-%zu",
						 i ? " " : "", spans[i].begin, spans[i].end);
	return all;
}

#define WHOLE(pattern, text) groups_of(pattern, REGEX_WHOLE, text, strlen(text), 0)
#define SEARCH(pattern, text, from) groups_of(pattern, REGEX_SEARCH, text, strlen(text), from)

TEST(whole_texts_match)
{
	assert_string_equal(WHOLE("foo|foobar", "foobar"), "0-6");
	assert_string_equal(WHOLE("foo|bar", "foox"), "none");
	assert_string_equal(WHOLE("foo|bar", "xbar"), "none");
	assert_string_equal(WHOLE("", ""), "0-0");
	assert_string_equal(WHOLE("", "a"), "none");
	assert_string_equal(WHOLE("(a|b)+.*[0-9]{1,3}", "ab-anything-1"), "0-13 1-2");
	assert_string_equal(WHOLE("^a(b|)c$", "ac"), "0-2 1-1");
	assert_string_equal(WHOLE("a{2,}", "aaaaa"), "0-5");
	assert_string_equal(WHOLE("a{2,}", "a"), "none");
	assert_string_equal(WHOLE("a{0}b{0,2}", "bb"), "0-2");
	assert_string_equal(WHOLE("(ab){2,3}", "ababab"), "0-6 4-6");
	assert_string_equal(WHOLE("(ab){2,3}", "abababab"), "none");
	assert_string_equal(WHOLE("\\bx\\b", "x"), "0-1");
	assert_string_equal(WHOLE("x\\By", "xy"), "0-2");
	assert_string_equal(WHOLE("x\\by", "xy"), "none");
}

TEST(classes_are_those_of_the_language)
{
	assert_string_equal(WHOLE("\\d\\D\\w\\W\\s\\S", "1x_- y"), "0-6");
	assert_string_equal(WHOLE("[\\d\\-x]+", "1-x"), "0-3");
	assert_string_equal(WHOLE("[^\\w]", "a"), "none");
	assert_string_equal(WHOLE("[[:alpha:]_]+", "ab_C"), "0-4");
	assert_string_equal(WHOLE("[a-c\\x64]+", "abcd"), "0-4");
	assert_string_equal(WHOLE("[]", "a"), "none");
	assert_string_equal(WHOLE("[^]", "a"), "0-1");
	assert_string_equal(WHOLE("[-a]+[a-]", "-a-"), "0-3");
	assert_string_equal(WHOLE("\\x41\\t\\|\\{]}", "A\t|{]}"), "0-6");
	assert_string_equal(WHOLE("[\\b]", "\b"), "0-1");
	/* bytes of UTF-8 */
	assert_string_equal(WHOLE("x..y", "x\xc3\xa9y"), "0-4");
	assert_string_equal(WHOLE("\xc3\xa9", "\xc3\xa9"), "0-2");
	assert_string_equal(WHOLE(".", "\n"), "none");
	assert_string_equal(WHOLE(".", "\r"), "none");
	assert_string_equal(groups_of("a.\\0b", REGEX_WHOLE, "a\0\0b", 4, 0), "0-4");
}

TEST(preferred_way_counts_for_the_groups)
{
	assert_string_equal(WHOLE("(a|ab)(c|bcd)(?:d*)", "abcd"), "0-4 0-1 1-4");
	assert_string_equal(WHOLE("(a*?)(a*)", "aaaa"), "0-4 0-0 0-4");
	assert_string_equal(WHOLE("(a*)(a*)", "aaaa"), "0-4 0-4 4-4");
	assert_string_equal(WHOLE("(a{1,3}?)(a*)", "aaaa"), "0-4 0-1 1-4");
	assert_string_equal(WHOLE("(a?\?)(a*)", "aa"), "0-2 0-0 0-2");
	assert_string_equal(WHOLE("(a+?)(a*)", "aa"), "0-2 0-1 1-2");
	assert_string_equal(WHOLE("(?:(a)|(b))*", "ab"), "0-2 0-1 1-2");
	assert_string_equal(WHOLE("foo((\\d)\\d+)(x)?", "foo123"), "0-6 3-6 3-4 -");
	/* Repetitions of what may be empty end. */
	assert_string_equal(WHOLE("(|a)*", "aaa"), "0-3 2-3");
	assert_string_equal(WHOLE("((a*|b*)*)*c", "aabbc"), "0-5 0-4 2-4");
	assert_string_equal(WHOLE("(?:)*(?:){3}a", "a"), "0-1");
}

TEST(searches_find_the_first_match)
{
	static const char text[] = "B|123|foofoo456 foo1 foo";

	assert_string_equal(SEARCH("foo(\\d+)", text, 0), "9-15 12-15");
	assert_string_equal(SEARCH("foo(\\d+)", text, 15), "16-20 19-20");
	assert_string_equal(SEARCH("foo(\\d+)", text, 20), "none");
	assert_string_equal(SEARCH("^foo", text, 0), "none");
	assert_string_equal(SEARCH("^", text, 1), "none");
	assert_string_equal(SEARCH("(.)$", text, 0), "23-24 23-24");
	assert_string_equal(SEARCH("\\bfoo\\b", text, 0), "21-24");
	assert_string_equal(SEARCH("(\\d*)", text, 0), "0-0 0-0");
	assert_string_equal(SEARCH("x*", text, 24), "24-24");
	assert_string_equal(SEARCH("o|fo|foo", text, 0), "6-8");
	assert_string_equal(SEARCH("a.*b|a", "xacc", 0), "1-2");
}

/* Expressions and texts that take a backtracking matcher for ever, or a searching one memory. */
TEST(time_is_bounded)
{
	static const char *const dear[] = {
		"(a*)*b",	    "(a|a)*b",	    "(a|b)*a(a|b){100}c",
		"((a|b)?){40}c",    "(a*|b*){20}c", "(.*)(.*)(.*)(.*)(.*)c",
		"\\b(.?){20}\\b$c",
	};
	char text[5000];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "ab"[(i * i / 7 + i / 3) % 2];
	for (size_t i = 0; i < ARRAY_SIZE(dear); i++)
		assert_string_equal(groups_of(dear[i], REGEX_WHOLE, text, sizeof(text), 0), "none");
}

TEST(budget_ends_the_search)
{
	uint64_t steps = 1000, before;
	struct regex *re;
	char text[2000];

	memset(text, 'a', sizeof(text));
	assert_int_equal(regex_new("(a|a)*b", NULL, &re), 0);
	assert_int_equal(regex_match(re, REGEX_WHOLE, text, 10, 0, NULL, &steps), 0);
	assert_true(steps < 1000 && steps > 800);
	before = steps;
	assert_int_equal(regex_match(re, REGEX_WHOLE, text, sizeof(text), 0, NULL, &steps), -E2BIG);
	assert_true(steps < before);
	regex_free(re);
}
