/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/verb.h"
#include "unit/test.h"

/* stderr and stdout are the test's; what comes there is not looked at here. */
static int parse(const char *letters, size_t min, size_t max, const char *line,
		 struct verb_options *ret)
{
	static char text[256];
	char *argv[16] = {(char *)"verb"}, *rest;
	int argc = 1;

	strcpy(text, line);
	for (char *p = strtok_r(text, " ", &rest); p; p = strtok_r(NULL, " ", &rest))
		argv[argc++] = p;
	argv[argc] = NULL;
	return verb_options_parse(argc, argv, letters, min, max, "usage\n", ret);
}

TEST(each_is_taken)
{
	struct verb_options o;

	assert_int_equal(
		parse("soqrjb", 0, 1, "--socket s -o f -q --raw --json --bugreport word", &o), -1);
	assert_string_equal(o.socket, "s");
	assert_string_equal(o.output, "f");
	assert_true(o.quiet && o.raw && o.json && o.bugreport);
	assert_int_equal(o.n_words, 1);
	assert_int_equal(parse("", 0, 0, "", &o), -1);
	assert_null(o.socket);
	assert_null(o.output);
	assert_false(o.quiet || o.raw || o.bugreport);
}

TEST(those_of_other_verbs_are_refused)
{
	struct verb_options o;

	assert_int_equal(parse("s", 0, 0, "-q", &o), EXIT_USAGE);
	assert_int_equal(parse("s", 0, 0, "-o x", &o), EXIT_USAGE);
	assert_int_equal(parse("sq", 0, 0, "--raw", &o), EXIT_USAGE);
	assert_int_equal(parse("o", 0, 0, "--socket s", &o), EXIT_USAGE);
	assert_int_equal(parse("o", 0, 0, "-o", &o), EXIT_USAGE);
}

TEST(words_are_counted)
{
	struct verb_options o;

	assert_int_equal(parse("", 1, 1, "", &o), EXIT_USAGE);
	assert_int_equal(parse("", 0, 1, "a b", &o), EXIT_USAGE);
	assert_int_equal(parse("", 1, 2, "a b", &o), -1);
	assert_string_equal(o.words[1], "b");
}

TEST(help_is_no_mistake)
{
	struct verb_options o;

	assert_int_equal(parse("", 1, 1, "--help", &o), EXIT_GOOD);
	assert_int_equal(parse("", 1, 1, "-h", &o), EXIT_GOOD);
}

TEST(file_has_a_name)
{
	char *argv[] = {(char *)"verb", (char *)"-o", (char *)"", NULL};
	struct verb_options o;

	assert_int_equal(verb_options_parse(3, argv, "o", 0, 0, "usage\n", &o), EXIT_USAGE);
}
