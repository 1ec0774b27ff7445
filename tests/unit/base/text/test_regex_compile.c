/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text/regex.h"
#include "unit/test.h"

static struct err_text e;

static int check(const char *pattern)
{
	struct regex *re;
	int r;

	e.text[0] = '\0';
	r = regex_new(pattern, &e, &re);
	if (r == 0)
		regex_free(re);
	return r;
}

static void assert_refused(const char *pattern, const char *why)
{
	assert_int_equal(check(pattern), -EINVAL);
	if (!strstr(e.text, why))
		fail_msg("%s: %s", why, e.text);
}

/* n times the piece, then the end. */
static char *repeated(const char *piece, size_t n, const char *end)
{
	size_t len = strlen(piece);
	char *s = malloc(n * len + strlen(end) + 1);

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		memcpy(s + i * len, piece, len);
	strcpy(s + n * len, end);
	return s;
}

TEST(length_is_limited)
{
	_cleanup_(freep) char *most = repeated("[abcdefghijklmn]", REGEX_MAX_BYTES / 16, "");
	_cleanup_(freep) char *more = repeated("[abcdefghijklmn]", REGEX_MAX_BYTES / 16, "a");

	assert_int_equal(check(most), 0);
	assert_refused(more, "1025 bytes; the limit is 1024");
	assert_null(strstr(e.text, more)); /* it is cut: the reason must fit */
}

TEST(groups_are_limited)
{
	_cleanup_(freep) char *close = repeated(")", REGEX_MAX_DEPTH, "");
	_cleanup_(freep) char *most = repeated("(", REGEX_MAX_DEPTH, "a");
	_cleanup_(freep) char *side = repeated("(a)", REGEX_MAX_GROUPS - 1, "");
	_cleanup_(freep) char *more = repeated("(a)", REGEX_MAX_GROUPS, "");
	_cleanup_(freep) char *plain = repeated("(?:a)", 100, "");
	char pattern[128];

	snprintf(pattern, sizeof(pattern), "%s%s", most, close);
	assert_int_equal(check(pattern), 0);
	snprintf(pattern, sizeof(pattern), "(?:%s%s)", most, close);
	assert_refused(pattern, "too many groups");
	assert_int_equal(check(side), 0);
	assert_refused(more, "too many groups");
	assert_int_equal(check(plain), 0);
}

TEST(written_out_size_is_limited)
{
	static const char *const large[] = {
		"a{1,32767}",
		"a{1000}",
		"(?:(?:a{1,255}){1,255}){1,255}",
		"(((((a{1,250}){1,250}){1,250}){1,250}){1,250})",
		"(ab|c){200,}",
		"a{99999999999999999999}",
		"a{0,4294967297}",
		"[a-z]{500}[a-z]{500}",
		"((a{40}){15})+",
	};

	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		assert_refused(large[i], "the limit of 1000");
	assert_int_equal(check("a{999}"), 0);
	assert_int_equal(check("((a{1,5}){1,5}){1,5}"), 0);
	assert_int_equal(check("a{0}b{0,0}"), 0);
}

TEST(other_languages_are_refused)
{
	assert_refused("(a)\\1", "escape \\1");
	assert_refused("\\u0041", "escape \\u");
	assert_refused("\\cA", "escape \\c");
	assert_refused("\\01", "escape \\0");
	assert_refused("\\x4", "escape \\x");
	assert_refused("a(?=b)", "only (?:...) is supported");
	assert_refused("a(?!b)", "only (?:...) is supported");
	assert_refused("(?<name>b)", "only (?:...) is supported");
	assert_refused("(?i)b", "only (?:...) is supported");
	assert_refused("a**", "nothing to repeat before");
	assert_refused("a*+", "nothing to repeat before");
	assert_refused("a{2}{3}", "nothing to repeat before");
	assert_refused("^*", "cannot be repeated");
	assert_refused("\\b{3}", "cannot be repeated");
	assert_refused("[[.a.]]", "not supported");
	assert_refused("[[=a=]]", "not supported");
	assert_refused("a)(b", "unmatched )");
}

TEST(broken_expressions_are_refused)
{
	static const char *const bad[] = {
		"(",	      "(a",	 ")",
		"[a",	      "[",	 "[^",
		"[[:alpha:]", "[[:",	 "[[:nothing:]]",
		"a\\",	      "[\\",	 "[a\\",
		"[z-a]",      "[a-\\d]", "*",
		"(*a)",	      "a|*",	 "a{",
		"a{x}",	      "a{,3}",	 "a{2,1}",
		"a{1",	      "a{1,",	 "a{1,2",
		"{2}",	      "(?",	 "(?:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i], bad[i]);
}

TEST(gigantic_expressions_cost_nothing)
{
	static const char *const pieces[] = {"(", "a|", "a{1,255}", "(a*|b*)", "[", "\\", "a)"};

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		_cleanup_(freep) char *s = repeated(pieces[i], 60000, "");

		assert_refused(s, "the limit is 1024");
	}
}
