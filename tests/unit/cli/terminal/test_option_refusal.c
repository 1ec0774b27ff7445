/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/verb.h"
#include "unit/test.h"

static const struct option options[] = {
	{"socket", required_argument, NULL, 's'},
	{"quiet", no_argument, NULL, 'q'},
	{"strict", no_argument, NULL, 256},
	{NULL, 0, NULL, 0},
};

/* As a command line has it: what getopt_long gives goes to the function, and its words are e's. */
static void refuse(const char *arg, struct err_text *e)
{
	char *argv[] = {(char *)"verb", (char *)arg, NULL};
	int option;

	opterr = 0;
	optind = 0;
	option = getopt_long(2, argv, ":qo:", options, NULL);
	assert_int_equal(option_refuse(option, argv[optind - 1], ":qo:", options, e), -EINVAL);
}

TEST(each_mistake_has_its_sentence)
{
	static const char *const rows[][2] = {
		{"--sokcet", "unknown option --sokcet; did you mean --socket?"},
		{"--zzz", "unknown option --zzz"},
		{"--socket", "--socket needs a value"},
		{"-o", "-o needs a value"},
		{"-x", "unknown option -x"},
		{"--quiet=1", "unknown option --quiet=1"},
		{"--strict=1", "unknown option --strict=1"},
	};
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		refuse(rows[i][0], &e);
		assert_string_equal(e.text, rows[i][1]);
	}
}
