/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts on a terminal that is narrower than they are. */

#include "cli/terminal/help.h"
#include "unit/test.h"

static void check(const char *text, size_t columns, const char *expected)
{
	struct strbuf out = {0};

	help_wrap(text, columns, &out);
	assert_string_equal(out.s, expected);
	strbuf_deinit(&out);
}

TEST(test_lines_that_fit_are_unchanged)
{
	static const char text[] = "usage: sonda cut [OPTION]... FILE\n"
				   "Writes a part.\n"
				   "\n"
				   "  -o, --out FILE  the file\n"
				   "  -h, --help      print this help\n"
				   "\n"
				   "example: sonda cut t.pf\n";

	check(text, 40, text);
}

TEST(test_descriptions_go_on_below_their_beginning)
{
	check("  -o, --out FILE  write the part into this file, not beside it\n"
	      "  -h, --help      print this help\n",
	      40,
	      "  -o, --out FILE  write the part into\n"
	      "                  this file, not beside\n"
	      "                  it\n"
	      "  -h, --help      print this help\n");
}

TEST(test_lines_that_go_on_are_joined)
{
	check("Writes the part of a trace between two\n"
	      "times into a file.\n"
	      "\n"
	      "      --by KEY  one of: thread, process, program,\n"
	      "                container\n"
	      "      --all     all\n",
	      45,
	      "Writes the part of a trace between two times\n"
	      "into a file.\n"
	      "\n"
	      "      --by KEY  one of: thread, process,\n"
	      "                program, container\n"
	      "      --all     all\n");
}

TEST(test_usage_is_not_joined)
{
	check("usage: sonda recorder enable [OPTION]... [WORD]...\n"
	      "       sonda recorder run\n"
	      "Records.\n",
	      40,
	      "usage: sonda recorder enable [OPTION]...\n"
	      "       [WORD]...\n"
	      "       sonda recorder run\n"
	      "Records.\n");
}

/* What is wider than the terminal stays in one piece: a name can be copied. */
TEST(test_long_words_and_columns)
{
	check("      --function-filter-with-a-long-name FUNC  only these\n", 40,
	      "      --function-filter-with-a-long-name FUNC\n"
	      "                    only these\n");
	check("x /sys/kernel/tracing/events/sched/sched_switch/format\n", 10,
	      "x\n/sys/kernel/tracing/events/sched/sched_switch/format\n");
}
