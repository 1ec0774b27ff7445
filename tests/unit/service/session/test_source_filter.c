/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "unit/service/rig.h"
#include "service/session/name_regex.h"
#include "service/session/session_config.h"

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
	r = session_config_check_filter(c->data_sources[0], &e);
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

static bool matches(const char *filter, const char *producer)
{
	Pb__TraceConfig *c = parse(filter);
	uint64_t budget = NAME_REGEX_STEPS;
	bool r = session_config_filter_matches(
		c, c->data_sources[0],
		&(struct source_of){.producer = producer, .machine = "penguin"}, &budget);

	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

/* machine: name, NULL for none */
static bool remote_matches(const char *filter, const char *config_rest, const char *machine)
{
	uint64_t budget = NAME_REGEX_STEPS;
	char text[512];
	Pb__TraceConfig *c;
	bool r;

	snprintf(text, sizeof(text), "data_sources { config { name: \"x\" } %s } %s", filter,
		 config_rest);
	c = peer_parse_config(text);
	r = session_config_filter_matches(
		c, c->data_sources[0],
		&(struct source_of){.producer = "p", .machine = machine, .is_remote = true},
		&budget);
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

TEST(other_machines_must_be_asked_for)
{
	const char *all = "trace_all_machines: true", *guest = "machine_name_filter: \"guest\"";
	const char *host = "machine_name_filter: \"host\"";

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

TEST(no_filter_takes_all)
{
	assert_true(matches("", "anybody"));
	assert_true(matches("", ""));
}

TEST(names_are_exact)
{
	const char *f = "producer_name_filter: \"a.b\" producer_name_filter: \"c\"";

	assert_true(matches(f, "a.b"));
	assert_true(matches(f, "c"));
	assert_false(matches(f, "axb"));
	assert_false(matches(f, "a.bc"));
	assert_false(matches(f, ""));
}

TEST(expressions_match_the_whole_name)
{
	const char *f = "producer_name_regex_filter: \"(foo|foobar)[0-9]*\"";

	assert_true(matches(f, "foo"));
	assert_true(matches(f, "foobar"));
	assert_true(matches(f, "foobar12"));
	assert_false(matches(f, "xfoo"));
	assert_false(matches(f, "foo12x"));
	assert_false(matches(f, ""));
	assert_true(matches("producer_name_regex_filter: \".*\"", ""));
}

TEST(name_or_expression)
{
	const char *f = "producer_name_filter: \"one\" producer_name_regex_filter: \"two.*\"";

	assert_true(matches(f, "one"));
	assert_true(matches(f, "twofold"));
	assert_false(matches(f, "three"));
}

TEST(machines_are_this_one_only)
{
	assert_true(matches("machine_name_filter: \"host\"", "p"));
	assert_true(matches("machine_name_filter: \"penguin\"", "p"));
	assert_true(matches("machine_name_filter: \"a\" machine_name_filter: \"host\"", "p"));
	assert_false(matches("machine_name_filter: \"guest\"", "p"));
	assert_false(matches("machine_name_filter: \"host\" producer_name_filter: \"q\"", "p"));
}

TEST(bad_expressions_are_refused)
{
	static const char *const bad[] = {"(", "[a", "a{2,1}", "*", "(?=a)"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char filter[128];

		snprintf(filter, sizeof(filter), "producer_name_regex_filter: \"%s\"", bad[i]);
		assert_int_equal(check(filter), -EINVAL);
		assert_non_null(strstr(e.text, "producer_name_regex_filter"));
		assert_non_null(strstr(e.text, bad[i]));
	}
}

/* One backslash of an expression is two in the config's text, and four in C. */
TEST(escapes_are_those_of_ecmascript)
{
	assert_int_equal(check("producer_name_regex_filter: \"a\\\\d+\""), 0);
	assert_true(matches("producer_name_regex_filter: \"a\\\\d+\"", "a17"));
	assert_int_equal(check("producer_name_regex_filter: \"com\\\\.app\\\\w*\""), 0);
	assert_int_equal(check("producer_name_regex_filter: \"(a)\\\\1\""), -EINVAL);
	assert_non_null(strstr(e.text, "\\1"));
}

TEST(trailing_backslash_is_refused)
{
	assert_int_equal(check("producer_name_regex_filter: \"a\\\\\""), -EINVAL);
}
