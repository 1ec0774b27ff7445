/* SPDX-License-Identifier: Apache-2.0 */
#include "config/text.h"
#include "ftrace/events/print_filter.h"
#include "unit/test.h"

static struct print_filter *filter;
static uint32_t tids[] = {7, 4000000, 5};
static size_t n_tids;
static bool follow;

static int teardown(void **state)
{
	filter = print_filter_free(filter);
	n_tids = 0;
	follow = false;
	return 0;
}

/* Gives print_filter_new's answer. */
static int make(const char *config)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	ProtobufCMessage *rules = NULL;
	struct strbuf errors = {0};
	int r;

	filter = print_filter_free(filter);
	assert_int_equal(text_parse(&pb__ftrace_config__print_filter__descriptor, "", config,
				    strlen(config), &errors, &rules),
			 0);
	c.print_filter = (Pb__FtraceConfig__PrintFilter *)rules;
	c.tids_to_trace = tids;
	c.n_tids_to_trace = n_tids;
	r = print_filter_new(&c, follow, &filter);
	protobuf_c_message_free_unpacked(rules, NULL);
	return r;
}

/* In memory of just that size, so that a sanitizer sees a read behind it. */
static bool allows_bytes(const void *text, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	bool r;

	memcpy(copy, text, len);
	r = print_filter_allows(filter, 5, copy, len);
	free(copy);
	return r;
}

static bool allows(const char *text)
{
	bool r = allows_bytes(text, strlen(text));

	/* A NUL at the end makes no difference. */
	assert_int_equal(allows_bytes(text, strlen(text) + 1), r);
	return r;
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

FIXTURE_TEST(rules_decide_which_texts_are_allowed)
{
	static const struct {
		const char *rules;
		const char *texts[16]; /* up to NULL */
		bool allowed;
	} rows[] = {
		{"rules { prefix: 'ab' allow: false }", {"ab", "abc\n"}, false},
		{"rules { prefix: 'ab' allow: false }", {"a", "", "xab"}, true},
		/* The first rule that matches decides. */
		{"rules { prefix: 'abc' allow: true } rules { prefix: 'ab' allow: false } "
		 "rules { prefix: 'abd' allow: true }",
		 {"abcd", "x"},
		 true},
		{"rules { prefix: 'ab' allow: false } rules { prefix: 'abd' allow: true }",
		 {"abd"},
		 false},
		{"rules { prefix: 'ab' allow: true } rules { prefix: '' allow: false }",
		 {"abc"},
		 true},
		{"rules { prefix: 'ab' allow: true } rules { prefix: '' allow: false }",
		 {"x", ""},
		 false},
		/* A rule that says nothing of the text is about every one. */
		{"rules { prefix: 'ab' allow: true } rules { allow: false }", {"abc"}, true},
		{"rules { prefix: 'ab' allow: true } rules { allow: false }", {"x"}, false},
		{"rules { atrace_msg { type: 'C' prefix: 'cpu' } allow: false }",
		 {"C|123|cpu", "C|0|cpu", "C|99999999999999|cpu_x\n"},
		 false},
		{"rules { atrace_msg { type: 'C' prefix: 'cpu' } allow: false }",
		 {"C|123|cp", "C||cpu", "C|12x|cpu", "C|123cpu", "B|123|cpu", "CC|1|cpu",
		  "C| 123|cpu", "C|-1|cpu", "C|123", "C|", "C", "", "C|123|", "|123|cpu",
		  " C|123|cpu"},
		 true},
		{"rules { atrace_msg { type: 'B' } allow: false }", {"B|1|"}, false},
		{"rules { atrace_msg { type: 'B' } allow: false }", {"B|1"}, true},
		{"rules { atrace_msg { } allow: false }", {"|1|x"}, false},
		{"rules { atrace_msg { } allow: false }", {"B|1|x"}, true},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		make(rows[i].rules);
		for (const char *const *text = rows[i].texts; *text; text++)
			if (allows(*text) != rows[i].allowed)
				fail_msg("%s: '%s'", rows[i].rules, *text);
	}
}

FIXTURE_TEST(text_ends_at_its_nul)
{
	make("rules { prefix: 'ab' allow: false }");
	assert_true(allows_bytes("a\0b", 3));
	assert_true(allows_bytes("\0ab", 3));
}

FIXTURE_TEST(threads)
{
	const uint8_t *text = (const uint8_t *)"ab";

	n_tids = 3;
	assert_int_equal(make(""), 0);
	assert_true(print_filter_allows(filter, 5, text, 2));
	assert_true(print_filter_allows(filter, 4000000, text, 2));
	assert_false(print_filter_allows(filter, 6, text, 2));
	assert_false(print_filter_allows(filter, 0, text, 2));
	/* Both have to let it through. */
	make("rules { prefix: 'a' allow: false }");
	assert_false(print_filter_allows(filter, 5, text, 2));
	assert_true(print_filter_allows(filter, 5, text + 1, 1));
	assert_false(print_filter_allows(filter, 6, text + 1, 1));
	/* Whose children there will be is not known. */
	follow = true;
	make("");
	assert_null(filter);
}

FIXTURE_TEST(limit)
{
	static char text[40 * (PRINT_FILTER_MAX_RULES + 1)];
	size_t at = 0;

	for (unsigned i = 0; i < PRINT_FILTER_MAX_RULES; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "rules { prefix: '%u' allow: false }", i + 1000);
	assert_int_equal(make(text), 0);
	assert_false(allows("2023"));
	assert_true(allows("2024"));
	snprintf(text + at, sizeof(text) - at, "rules { prefix: 'x' allow: true }");
	assert_int_equal(make(text), -E2BIG);
	assert_null(filter);
}
