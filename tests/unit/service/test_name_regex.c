/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "service/limits.h"
#include "service/name_regex.h"

static struct err_text e;

static int check(const char *pattern)
{
	e.text[0] = '\0';
	return name_regex_check(pattern, &e);
}

static bool accepted_and_matches(const char *pattern, const char *name)
{
	if (check(pattern) < 0)
		fail_msg("%s", e.text);
	return name_regex_matches(pattern, name);
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

static void ordinary_expressions_work(void **state)
{
	(void)state;
	assert_true(accepted_and_matches("perfetto\\.traced_probes", "perfetto.traced_probes"));
	assert_false(accepted_and_matches("perfetto\\.traced_probes", "perfetto-traced_probes"));
	assert_true(accepted_and_matches("(a|b)+.*[0-9]{1,3}", "ab-anything-1"));
	assert_false(accepted_and_matches("(a|b)+.*[0-9]{1,3}", "ab-anything"));
	assert_true(accepted_and_matches(".*", ""));
	assert_true(accepted_and_matches("", ""));
	assert_false(accepted_and_matches("", "a"));
	assert_true(accepted_and_matches("^a(b|)c$", "ac"));
	assert_true(accepted_and_matches("(com\\.app\\w*){1,4}", "com.app1com.app2"));
	assert_true(accepted_and_matches("\\bx\\b", "x"));
	assert_true(accepted_and_matches(".{0,255}", "name"));
	assert_true(accepted_and_matches("a{2,}", "aaaaa"));
	assert_false(accepted_and_matches("a{2,}", "a"));
	assert_true(accepted_and_matches("[[:alpha:]]+[])(*{]", "abc{"));
	assert_true(accepted_and_matches("[^]({]", "x"));
}

static void whole_name_is_meant(void **state)
{
	(void)state;
	assert_true(accepted_and_matches("foo|foobar", "foobar"));
	assert_true(accepted_and_matches("foo|foobar", "foo"));
	assert_false(accepted_and_matches("foo|bar", "foox"));
	assert_false(accepted_and_matches("foo|bar", "xbar"));
	assert_false(accepted_and_matches("a", "a\nb"));
}

static void length_is_limited(void **state)
{
	_cleanup_(freep) char *most = repeated("a", MAX_REGEX_BYTES, "");
	_cleanup_(freep) char *more = repeated("a", MAX_REGEX_BYTES, "a");

	(void)state;
	assert_true(accepted_and_matches(most, most));
	assert_refused(more, "257 bytes; the limit is 256");
	assert_null(strstr(e.text, more)); /* it is cut: the reason must fit */
}

static void nesting_is_limited(void **state)
{
	_cleanup_(freep) char *close = repeated(")", MAX_REGEX_DEPTH, "");
	char *most = repeated("(", MAX_REGEX_DEPTH, "a");
	char pattern[128];

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s%s", most, close);
	assert_true(accepted_and_matches(pattern, "a"));
	snprintf(pattern, sizeof(pattern), "(%s%s)", most, close);
	assert_refused(pattern, "nested deeper than 16");
	free(most);
	/* side by side is not nested */
	most = repeated("(a)", 30, "");
	assert_int_equal(check(most), 0);
	free(most);
}

static void written_out_size_is_limited(void **state)
{
	static const char *const large[] = {
		"a{1,32767}",
		"a{301}",
		"((a{1,255}){1,255}){1,255}",
		"(((((a{1,250}){1,250}){1,250}){1,250}){1,250})",
		"a{10}{10}{10}",
		"(ab|c){100,}",
		"a{99999999999999999999}",
		"a{0,4294967297}",
		"[a-z]{200}[a-z]{200}",
		"((a{40}){4})+",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		assert_refused(large[i], "larger than 600");
	assert_int_equal(check("a{299}"), 0);
	assert_int_equal(check("((a{1,5}){1,5}){1,5}"), 0);
	assert_int_equal(check("a{0}b{0,0}"), 0);
}

/* Every one of these is short and takes regcomp seconds, or for ever. */
static void what_takes_more_than_linear_time_is_limited(void **state)
{
	static const char unbounded[] = "cannot be repeated without bound";

	(void)state;
	assert_refused("((a*|b*){20})*", unbounded);
	assert_refused("(a*)+", unbounded);
	assert_refused("(a|)*", unbounded);
	assert_refused("(|a){2,}", unbounded);
	assert_refused("(x?y{0,3}z*)*", unbounded);
	assert_refused("(^|a?)*", unbounded);
	assert_refused("a**", unbounded);
	assert_refused("(\\b)*", unbounded);
	assert_int_equal(check("(a*b)*"), 0);
	assert_int_equal(check("(a*|b*){8}"), 0);
	assert_refused("(a*|b*){100}", "larger than 600");
	assert_refused("(\\B){100}", "larger than 600");
	assert_refused("(^){5}{9}", "larger than 600");
	assert_refused("(a)\\1", "escape \\1");
	assert_refused("(a)[\\\\]\\1", "backslash in brackets");
	assert_refused("(a)[]\\]\\1", "backslash in brackets");
}

static void what_posix_means_otherwise_is_refused(void **state)
{
	static const char *const bad[] = {"a\\d+", "\\x41", "\\<a", "a\\>", "\\`a", "a\\'"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i], "is not supported");
	assert_refused("[\\w]", "backslash in brackets");
	assert_refused("a)(b", "a ) without its (");
	assert_int_equal(check("a\\\\d\\)"), 0);
}

static void broken_expressions_are_refused(void **state)
{
	static const char *const bad[] = {
		"(",	"(a",	 ")",
		"[a",	"[]",	 "[[:alpha:]",
		"[[:",	"[[.a",	 "[[:nothing:]]",
		"a\\",	"*",	 "(*a)",
		"a|*",	"(?:a)", "a{",
		"a{x}", "a{,3}", "a{2,1}",
		"a{1",	"a{1,",	 "a{1,2",
		"{2}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i], bad[i]);
}

static void gigantic_expressions_cost_nothing(void **state)
{
	static const char *const pieces[] = {"(", "a|", "a{1,255}", "(a*|b*)", "[", "\\", "a)"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		_cleanup_(freep) char *s = repeated(pieces[i], 60000, "");

		assert_refused(s, "the limit is 256");
	}
}

/* The dearest that are accepted, on the longest name. */
static void worst_cases_fit_the_memory(void **state)
{
	static const char *const dear[] = {
		"(a|b)*a(a|b){100}c",	"((a|b)?){20}c",  "(.?){20}c",	      "(a*|b*){20}c",
		"((a|b)*a(a|b)){30}cc", "(a?){30}a{99}c", "\\b(.?){20}\\b$c",
	};
	char name[MAX_NAME_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < MAX_NAME_BYTES; i++)
		name[i] = "ab"[(i * i / 7 + i / 3) % 2];
	name[MAX_NAME_BYTES] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(dear); i++)
		assert_false(accepted_and_matches(dear[i], name));
}

/* An expression that gets through must fail here, not take the machine's memory. Sanitizers reserve
 * more addresses than that. */
static int limit_memory(void **state)
{
	struct rlimit stack = {1 << 20, 1 << 20};

	(void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_AS, &(struct rlimit){256 << 20, 256 << 20});
#endif
	setrlimit(RLIMIT_STACK, &stack);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_expressions_work),
		cmocka_unit_test(whole_name_is_meant),
		cmocka_unit_test(length_is_limited),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(written_out_size_is_limited),
		cmocka_unit_test(what_takes_more_than_linear_time_is_limited),
		cmocka_unit_test(what_posix_means_otherwise_is_refused),
		cmocka_unit_test(broken_expressions_are_refused),
		cmocka_unit_test(gigantic_expressions_cost_nothing),
		cmocka_unit_test(worst_cases_fit_the_memory),
	};

	return cmocka_run_group_tests(tests, limit_memory, NULL);
}
