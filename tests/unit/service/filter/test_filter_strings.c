/* SPDX-License-Identifier: Apache-2.0 */

#include "service/filter/filter_strings.h"
#include "service/ipc/limits.h"
#include "unit/service/rig.h"
#include "unit/test.h"

#define REDACT "policy: SFP_MATCH_REDACT_GROUPS "
#define BREAK "policy: SFP_MATCH_BREAK "
#define ATRACE_REDACT "policy: SFP_ATRACE_MATCH_REDACT_GROUPS "
#define ATRACE_BREAK "policy: SFP_ATRACE_MATCH_BREAK "
#define ATRACE_SEARCH "policy: SFP_ATRACE_REPEATED_SEARCH_REDACT_GROUPS "
#define RULE(policy, regex) "rules { " policy "regex_pattern: '" regex "' } "

/* The rest of a trace_filter's text; the expressions in it have two backslashes for one. */
static int load(const char *chains, struct err_text *e, struct filter_strings **ret)
{
	char text[8192];
	Pb__TraceConfig *c;
	int r;

	snprintf(text, sizeof(text), "trace_filter { %s }", chains);
	c = peer_parse_config(text);
	r = filter_strings_new(c->trace_filter->string_filter_chain,
			       c->trace_filter->string_filter_chain_v54, e, ret);
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

static const char *apply_to(const char *chains, uint32_t type, const char *text)
{
	static char changed[256];
	uint64_t budget = MAX_FILTER_STEPS;
	struct filter_strings *s;
	struct err_text e;

	if (load(chains, &e, &s) < 0)
		fail_msg("%s", e.text);
	strcpy(changed, text);
	assert_int_equal(filter_strings_apply(s, type, (uint8_t *)changed, strlen(text), &budget),
			 0);
	filter_strings_free(s);
	return changed;
}

/* With one chain. */
#define APPLY(rules, text) apply_to("string_filter_chain { " rules "}", 0, text)

TEST(groups_are_overwritten)
{
	assert_string_equal(APPLY(RULE(REDACT, "foo(\\\\d+)bar"), "foo123bar"), "fooP60bar");
	assert_string_equal(APPLY(RULE(REDACT, "foo(\\\\d+)bar"), "foo123barX"), "foo123barX");
	assert_string_equal(APPLY(RULE(REDACT, "(f)o{2}(\\\\d+)bar.*"), "foo123bar"), "PooP60bar");
	assert_string_equal(APPLY(RULE(REDACT, "foo((\\\\d)\\\\d+)(x)?bar"), "foo123bar"),
			    "fooP60bar");
	assert_string_equal(APPLY(RULE(REDACT, "x(.*)"), "x"), "x");
	assert_string_equal(APPLY(RULE(REDACT, "x(.*)"), "x12345678901"), "xP60REDACTED");
	assert_string_equal(APPLY(RULE(REDACT, "x(.*)"), "x12345678901234"), "xP60REDACTED---");
	assert_string_equal(APPLY(RULE(REDACT, ""), ""), "");
}

TEST(first_rule_that_applies_is_the_last)
{
	assert_string_equal(APPLY(RULE(BREAK, "keep.*") RULE(REDACT, "(.*)"), "keep it"),
			    "keep it");
	assert_string_equal(APPLY(RULE(BREAK, "keep.*") RULE(REDACT, "(.*)"), "do not"), "P60RED");
	assert_string_equal(APPLY(RULE(REDACT, "foo.*") RULE(REDACT, "(.*)"), "foo1"), "foo1");
	assert_string_equal(APPLY(RULE(REDACT, "x(.).*") RULE(REDACT, "x.(.).*"), "xab"), "xPb");
	assert_string_equal(APPLY("", "anything"), "anything");
}

TEST(rules_of_atrace_are_for_markers)
{
#define PREFIX "atrace_payload_starts_with: 'foo' "
#define ONE RULE(ATRACE_REDACT PREFIX, "[BCS]\\\\|\\\\d+\\\\|foo(\\\\d+).*")
	assert_string_equal(APPLY(ONE, "B|123|foo456"), "B|123|fooP60");
	assert_string_equal(APPLY(ONE, "C|123|foo456|7"), "C|123|fooP60|7");
	assert_string_equal(APPLY(ONE, "E|123|foo456"), "E|123|foo456");
	assert_string_equal(APPLY(ONE, "B|123|xfoo456"), "B|123|xfoo456");
	assert_string_equal(APPLY(ONE, "B|12|3|foo9"), "B|12|3|foo9");
#undef ONE
#define ONE RULE(ATRACE_REDACT, ".*foo(\\\\d+).*")
	assert_string_equal(APPLY(ONE, "B|12|3|foo9"), "B|12|3|fooP");
	assert_string_equal(APPLY(ONE, "|a|foo1"), "|a|fooP");
	assert_string_equal(APPLY(ONE, "B||foo1"), "B||fooP");
	assert_string_equal(APPLY(ONE, "E||foo1"), "E||foo1");
	assert_string_equal(APPLY(ONE, "B|foo1"), "B|foo1");
	assert_string_equal(APPLY(ONE, "foo1"), "foo1");
#undef ONE
#define ONE RULE(ATRACE_BREAK PREFIX, ".*foo.*") RULE(REDACT, "(.*)")
	assert_string_equal(APPLY(ONE, "B|123|foo456"), "B|123|foo456");
	assert_string_equal(APPLY(ONE, "B|123|xfoo"), "P60REDACTE");
	assert_string_equal(APPLY(ONE, "B|"), "P6");
	assert_string_equal(APPLY(ONE, "E|123"), "P60RE");
#undef ONE
}

TEST(searches_find_every_place)
{
#define ONE RULE(ATRACE_SEARCH PREFIX, "foo(\\\\d+)")
	assert_string_equal(APPLY(ONE, "B|123|foofoo456 foo1 foo"), "B|123|foofooP60 fooP foo");
	assert_string_equal(APPLY(ONE, "B|123|xfoo456"), "B|123|xfoo456");
#undef ONE
	/* the whole marker is searched, not only its text */
	assert_string_equal(APPLY(RULE(ATRACE_SEARCH, "(1)"), "B|11|foo1"), "B|PP|fooP");
	assert_string_equal(APPLY(RULE(ATRACE_SEARCH, "(\\\\d*)"), "B|123|a4"), "B|P60|aP");
	assert_string_equal(APPLY(RULE(ATRACE_SEARCH, "(.)$"), "B|1|foo"), "B|1|foP");
	assert_string_equal(APPLY(RULE(ATRACE_SEARCH, "foo") RULE(REDACT, "(.*)"), "B|1|foo"),
			    "B|1|foo");
	assert_string_equal(APPLY(RULE(ATRACE_SEARCH, "none") RULE(REDACT, "(.*)"), "B|1|foo"),
			    "P60REDA");
}

TEST(rules_are_for_their_semantic_types)
{
#define OF(types) "string_filter_chain { rules { " REDACT "regex_pattern: 'x(.*)' " types "} } "
#define ATRACE "semantic_type: SEMANTIC_TYPE_ATRACE "
#define JOB "semantic_type: SEMANTIC_TYPE_JOB "
	static const struct {
		const char *chain;
		uint32_t types; /* a bit for each that the rule is for */
	} cases[] = {
		{OF(""), 1 << 0},
		{OF("semantic_type: SEMANTIC_TYPE_UNSPECIFIED "), 1 << 0},
		{OF(ATRACE), 1 << 1},
		{OF(ATRACE JOB), 1 << 1 | 1 << 2},
		{OF("semantic_type: SEMANTIC_TYPE_WAKELOCK "), 1 << 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (uint32_t type = 0; type < 5; type++)
			assert_string_equal(apply_to(cases[i].chain, type, "xaaa"),
					    cases[i].types >> type & 1 ? "xP60" : "xaaa");
	assert_string_equal(apply_to(cases[0].chain, 64, "xaaa"), "xaaa");
	assert_string_equal(apply_to(cases[0].chain, 12345, "xaaa"), "xaaa");
}

TEST(named_rules_replace_each_other)
{
#define NAMED "rules { name: 'n' " REDACT "regex_pattern: 'x(.).*' } "
#define OTHER "rules { name: 'n' " REDACT "regex_pattern: 'x.(.).*' } "
	static const char both[] = "string_filter_chain { " NAMED RULE(
		REDACT, "y(.)") "} "
				"string_filter_chain_v54 { " OTHER RULE(REDACT, "z(.)") "} ";
	static const char only[] = "string_filter_chain_v54 { " NAMED "} ";

	assert_string_equal(apply_to(both, 0, "xab"), "xaP");
	assert_string_equal(apply_to(both, 0, "yb"), "yP");
	assert_string_equal(apply_to(both, 0, "zb"), "zP");
	assert_string_equal(apply_to(only, 0, "xab"), "xPb");
	assert_string_equal(APPLY(NAMED RULE(REDACT, "y(.)") OTHER, "xab"), "xaP");
	/* no name is no name */
	assert_string_equal(APPLY(RULE("name: '' " REDACT, "x(.).*")
					  RULE("name: '' " REDACT, "x.(.).*"),
				  "xab"),
			    "xPb");
}

static void assert_refused(const char *chains, const char *why)
{
	struct filter_strings *s = NULL;
	struct err_text e = {""};

	assert_int_equal(load(chains, &e, &s), -EINVAL);
	assert_null(s);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" does not say \"%s\"", e.text, why);
}

TEST(bad_rules_are_refused)
{
	char many[64 + 40 * (MAX_FILTER_RULES + 1)] = "string_filter_chain { ";

	assert_refused("string_filter_chain { rules { regex_pattern: 'x' } }", "policy 0");
	assert_refused("string_filter_chain_v54 { rules { regex_pattern: 'x' } }", "policy 0");
	assert_refused("string_filter_chain { " RULE(REDACT, "x(") "}", "\"x(\"");
	assert_refused("string_filter_chain { " RULE(REDACT, "(x)\\\\1") "}", "\\1");
	for (unsigned i = 0; i <= MAX_FILTER_RULES; i++)
		strcat(many, "rules { policy: SFP_MATCH_BREAK } ");
	strcat(many, "}");
	assert_refused(many, "too many string rules; the limit is 128");
}

/* Of a text that cannot be looked at to its end nothing may be known. */
TEST(budget_ends_it)
{
	uint8_t text[1000];
	uint64_t budget = 2000;
	struct filter_strings *s;
	struct err_text e;

	memset(text, 'a', sizeof(text));
	assert_int_equal(load("string_filter_chain { " RULE(REDACT, "(a|a)*b") "}", &e, &s), 0);
	assert_int_equal(filter_strings_apply(s, 0, text, sizeof(text), &budget), -E2BIG);
	assert_true(budget < 2000);
	filter_strings_free(s);
}
