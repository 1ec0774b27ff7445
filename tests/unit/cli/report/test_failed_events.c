/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/missing_events.c"
#include "unit/test.h"

/* entries ends with NULL. */
static void check(const char *const *entries, const char *expected)
{
	struct name_list failed = {0};
	struct strbuf lines = {0};

	for (; *entries; entries++)
		name_list_add_text(&failed, (const uint8_t *)*entries, strlen(*entries));
	strbuf_puts(&lines, "");
	failed_events_put(&failed, &lines);
	assert_string_equal(lines.s, expected);
	strbuf_deinit(&lines);
	name_list_deinit(&failed);
}

#define CHECK(expected, ...) check((const char *const[]){__VA_ARGS__, NULL}, expected)

TEST(test_events_and_options)
{
	check((const char *const[]){NULL}, "");
	CHECK("event a/b could not be recorded: Device or resource busy\n",
	      "a/b (Device or resource busy)");
	CHECK("event a/b could not be recorded\n", "a/b");
	CHECK("ftrace option x: not built\nftrace option y\n", "option:x (not built)", "option:y");
	/* Brackets that are none around a reason. */
	CHECK("event a/b (c) d could not be recorded\n", "a/b (c) d");
	CHECK("event a/b could not be recorded: c (d)\n", "a/b (c (d))");
	CHECK("event  could not be recorded:  \n"
	      "event ( could not be recorded\n",
	      " ( )", "(");
}

TEST(test_one_reason_is_told_once)
{
	CHECK("events a/b, a/d could not be recorded: busy\n"
	      "event a/c could not be recorded: gone\n"
	      "ftrace option x: busy\n"
	      "ftrace option y: busy\n",
	      "a/b (busy)", "a/c (gone)", "option:x (busy)", "a/d (busy)", "option:y (busy)");
	CHECK("events a/1, a/2, a/3 and 1 other could not be recorded: busy\n", "a/1 (busy)",
	      "a/2 (busy)", "a/3 (busy)", "a/4 (busy)");
	CHECK("events a/1, a/2, a/3 and 2 others could not be recorded: busy\n", "a/1 (busy)",
	      "a/2 (busy)", "a/3 (busy)", "a/4 (busy)", "a/5 (busy)");
}

/* Its event is recorded. */
TEST(test_a_trigger_that_is_refused)
{
	CHECK("trigger at event a/b is refused: no\n", "a/b (trigger refused: no)");
	CHECK("trigger at events a/b, a/c is refused: Field not found\n"
	      "  x == 1\n"
	      "  ^\n"
	      "event a/d could not be recorded: trigger refused: \n",
	      "a/b (trigger refused: Field not found at character 1: ^x == 1)",
	      "a/c (trigger refused: Field not found at character 1: ^x == 1)",
	      "a/d (trigger refused: )");
}

TEST(test_the_place_of_a_mistake)
{
	CHECK("event a/b could not be recorded: filter refused: Field not found\n"
	      "  prev_pid == 1 && x == 5\n"
	      "                   ^\n",
	      "a/b (filter refused: Field not found at character 18: prev_pid == 1 && ^x == 5)");
	CHECK("event a/b could not be recorded: no\n"
	      "  x == (1)\n"
	      "  ^\n",
	      "a/b (no at character 1: ^x == (1))");
	CHECK("ftrace option kprobe_events: no\n"
	      "  p:x y\n"
	      "       ^\n",
	      "option:kprobe_events (no at character 6: p:x y^)");
	/* A '^' of the text's own before it; blanks as wide as the letters are. */
	CHECK("event a/b could not be recorded: no\n"
	      "  c ~ \"^\xc3\xa4\" && x\n"
	      "              ^\n",
	      "a/b (no at character 14: c ~ \"^\xc3\xa4\" && ^x)");
	/* Cut on both sides. */
	CHECK("event a/b could not be recorded: no\n"
	      "  ...aaa bbb...\n"
	      "         ^\n",
	      "a/b (no at character 150: ...aaa ^bbb...)");
}

TEST(test_what_is_no_place_stays)
{
	static const char *const reasons[] = {
		"no at character : x^",	  "no at character 0: x^",
		"no at character 7: x",	  "no at character 99999999999999999999999: x",
		"at character 1: ^x",	  "no at character 1:",
		"no at character 1",	  "no at character 1^",
		"no at character -5: xy",
	};
	char entry[128], expected[128];

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		snprintf(entry, sizeof(entry), "a/b (%s)", reasons[i]);
		snprintf(expected, sizeof(expected), "event a/b could not be recorded: %s\n",
			 reasons[i]);
		CHECK(expected, entry);
	}
}
