/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "unit/service/rig.h"
#include "service/session/source_filter.h"

static struct err_text e;

static Pb__TraceConfig *parse(const char *filter)
{
	char text[512];

	snprintf(text, sizeof(text), "data_sources { config { name: \"x\" } %s }", filter);
	return peer_parse_config(text);
}

static int check(const char *filter)
{
	Pb__TraceConfig *c = parse(filter);
	int r;

	e.text[0] = '\0';
	r = source_filter_check(c->data_sources[0], &e);
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

static bool matches(const char *filter, const char *producer)
{
	Pb__TraceConfig *c = parse(filter);
	bool r = source_filter_matches(
		c, c->data_sources[0],
		&(struct source_of){.producer = producer, .machine = "penguin"});

	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

/* machine: name, NULL for none */
static bool remote_matches(const char *filter, const char *config_rest, const char *machine)
{
	char text[512];
	Pb__TraceConfig *c;
	bool r;

	snprintf(text, sizeof(text), "data_sources { config { name: \"x\" } %s } %s", filter,
		 config_rest);
	c = peer_parse_config(text);
	r = source_filter_matches(
		c, c->data_sources[0],
		&(struct source_of){.producer = "p", .machine = machine, .is_remote = true});
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

static void other_machines_must_be_asked_for(void **state)
{
	const char *all = "trace_all_machines: true", *guest = "machine_name_filter: \"guest\"";
	const char *host = "machine_name_filter: \"host\"";

	(void)state;
	assert_false(remote_matches("", "", "guest"));
	assert_true(remote_matches("", all, "guest"));
	assert_true(remote_matches("", all, NULL));
	assert_true(remote_matches(guest, "", "guest"));
	assert_false(remote_matches(guest, all, "other"));
	assert_false(remote_matches(guest, all, NULL));
	assert_false(remote_matches("producer_name_filter: \"q\"", all, "guest"));
	/* None is the host, whatever it calls itself. */
	assert_false(remote_matches(host, all, "host"));
	assert_false(remote_matches(host, all, "guest"));
}

static void no_filter_takes_all(void **state)
{
	(void)state;
	assert_true(matches("", "anybody"));
	assert_true(matches("", ""));
}

static void names_are_exact(void **state)
{
	const char *f = "producer_name_filter: \"a.b\" producer_name_filter: \"c\"";

	(void)state;
	assert_true(matches(f, "a.b"));
	assert_true(matches(f, "c"));
	assert_false(matches(f, "axb"));
	assert_false(matches(f, "a.bc"));
	assert_false(matches(f, ""));
}

static void expressions_match_the_whole_name(void **state)
{
	const char *f = "producer_name_regex_filter: \"(foo|foobar)[0-9]*\"";

	(void)state;
	assert_true(matches(f, "foo"));
	assert_true(matches(f, "foobar"));
	assert_true(matches(f, "foobar12"));
	assert_false(matches(f, "xfoo"));
	assert_false(matches(f, "foo12x"));
	assert_false(matches(f, ""));
	assert_true(matches("producer_name_regex_filter: \".*\"", ""));
}

static void name_or_expression(void **state)
{
	const char *f = "producer_name_filter: \"one\" producer_name_regex_filter: \"two.*\"";

	(void)state;
	assert_true(matches(f, "one"));
	assert_true(matches(f, "twofold"));
	assert_false(matches(f, "three"));
}

static void machines_are_this_one_only(void **state)
{
	(void)state;
	assert_true(matches("machine_name_filter: \"host\"", "p"));
	assert_true(matches("machine_name_filter: \"penguin\"", "p"));
	assert_true(matches("machine_name_filter: \"a\" machine_name_filter: \"host\"", "p"));
	assert_false(matches("machine_name_filter: \"guest\"", "p"));
	assert_false(matches("machine_name_filter: \"host\" producer_name_filter: \"q\"", "p"));
}

static void bad_expressions_are_refused(void **state)
{
	static const char *const bad[] = {"(", "[a", "a{2,1}", "*", "(?=a)"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char filter[128];

		snprintf(filter, sizeof(filter), "producer_name_regex_filter: \"%s\"", bad[i]);
		assert_int_equal(check(filter), -EINVAL);
		assert_non_null(strstr(e.text, "producer_name_regex_filter"));
		assert_non_null(strstr(e.text, bad[i]));
	}
}

/* One backslash of an expression is two in the config's text, and four in C. */
static void escapes_are_those_of_ecmascript(void **state)
{
	(void)state;
	assert_int_equal(check("producer_name_regex_filter: \"a\\\\d+\""), 0);
	assert_true(matches("producer_name_regex_filter: \"a\\\\d+\"", "a17"));
	assert_int_equal(check("producer_name_regex_filter: \"com\\\\.app\\\\w*\""), 0);
	assert_int_equal(check("producer_name_regex_filter: \"(a)\\\\1\""), -EINVAL);
	assert_non_null(strstr(e.text, "\\1"));
}

static void trailing_backslash_is_refused(void **state)
{
	(void)state;
	assert_int_equal(check("producer_name_regex_filter: \"a\\\\\""), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_filter_takes_all),
		cmocka_unit_test(names_are_exact),
		cmocka_unit_test(expressions_match_the_whole_name),
		cmocka_unit_test(name_or_expression),
		cmocka_unit_test(machines_are_this_one_only),
		cmocka_unit_test(other_machines_must_be_asked_for),
		cmocka_unit_test(bad_expressions_are_refused),
		cmocka_unit_test(escapes_are_those_of_ecmascript),
		cmocka_unit_test(trailing_backslash_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
