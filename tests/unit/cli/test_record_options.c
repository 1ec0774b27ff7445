// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/record_options.h"

#define MAX_ARGS 16

/* Splits a line at blanks and parses it; "''" is an empty argument. The words live in buf. */
static int parse(const char *line, struct record_options *o, struct err_text *e)
{
	static char buf[512], *argv[MAX_ARGS];
	int argc = 0;

	snprintf(buf, sizeof(buf), "record %s", line);
	for (char *p = strtok(buf, " "); p && argc < MAX_ARGS - 1; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "''") ? p : p + 2;
	argv[argc] = NULL;
	return record_options_parse(argc, argv, o, e);
}

static struct record_options good(const char *line)
{
	struct record_options o;
	struct err_text e;

	if (parse(line, &o, &e))
		fail_msg("'%s' was refused: %s", line, e.text);
	return o;
}

static void test_words_with_what_they_mean_by_default(void **state)
{
	struct record_options o = good("sched irq/*");

	(void)state;
	assert_int_equal(o.n_events, 2);
	assert_string_equal(o.events[0], "sched");
	assert_string_equal(o.events[1], "irq/*");
	assert_int_equal(o.duration_ms, 0);
	assert_int_equal(o.buffer_kb, 32768);
	assert_int_equal(o.ring_kb, 0);
	assert_null(o.config);
	assert_null(o.output);
	assert_null(o.socket);
	assert_false(o.strict || o.quiet || o.help || o.config_is_text);
}

static void test_options_stand_before_between_and_after_words(void **state)
{
	struct record_options o = good("-t 5 sched --buffer=64mb irq/* -o x.pftrace -q --strict");

	(void)state;
	assert_int_equal(o.n_events, 2);
	assert_string_equal(o.events[1], "irq/*");
	assert_int_equal(o.duration_ms, 5000);
	assert_int_equal(o.buffer_kb, 65536);
	assert_string_equal(o.output, "x.pftrace");
	assert_true(o.quiet && o.strict);
	o = good("-- -strange sched");
	assert_int_equal(o.n_events, 2);
	assert_string_equal(o.events[0], "-strange");
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} cases[] = {{"10", 10000},   {"10s", 10000}, {"500ms", 500}, {"2m", 120000},
		     {"1h", 3600000}, {"1.5s", 1500}, {"0", 0},	      {"168h", 604800000}};
	char line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "-t %s sched", cases[i].text);
		assert_int_equal(good(line).duration_ms, cases[i].ms);
		snprintf(line, sizeof(line), "--time=%s sched", cases[i].text);
		assert_int_equal(good(line).duration_ms, cases[i].ms);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	assert_int_equal(good("-b 512 sched").buffer_kb, 512);
	assert_int_equal(good("-b 512k sched").buffer_kb, 512);
	assert_int_equal(good("-b 1gb sched").buffer_kb, 1 << 20);
	assert_int_equal(good("-b 4194303 sched").buffer_kb, 4194303);
	assert_int_equal(good("-B 8mb sched").ring_kb, 8192);
	assert_int_equal(good("--ring 64 sched").ring_kb, 64);
}

static void test_a_config_instead_of_words(void **state)
{
	struct record_options o = good("-c - --txt -o -");

	(void)state;
	assert_string_equal(o.config, "-");
	assert_true(o.config_is_text);
	assert_string_equal(o.output, "-");
	assert_string_equal(good("--config file --socket @name").socket, "@name");
}

static void test_help_wins(void **state)
{
	struct record_options o = good("-h");

	(void)state;
	assert_true(o.help);
	assert_true(good("--help").help);
	assert_true(good("sched --help --nonsense").help);
}

static void test_refused(void **state)
{
	static const struct {
		const char *line;
		const char *word; /* of the sentence */
	} cases[] = {
		{"", "nothing to record"},
		{"-t 5", "nothing to record"},
		{"--txt sched", "--txt"},
		{"-t", "-t needs a value"},
		{"--buffer", "--buffer needs a value"},
		{"-t 5x sched", "-t 5x"},
		{"-t -1 sched", "-t -1"},
		{"-t '' sched", "-t  is no time"},
		{"-t 169h sched", "7 days"},
		{"-t 99999999999999999999 sched", "7 days"},
		{"-b 10lb sched", "-b 10lb"},
		{"-b 0 sched", "needs a size"},
		{"-b 4194304 sched", "4 GiB"},
		{"-b 99999999999999gb sched", "4 GiB"},
		{"-B 0 sched", "-B 0"},
		{"-x sched", "no option -x"},
		{"-qx sched", "no option -x"},
		{"--nonsense sched", "no option --nonsense"},
		{"--strict=yes sched", "--strict=yes"},
		{"-o '' sched", "-o needs"},
		{"-c file sched", "'sched'"},
		{"-c file -t 5", "'-t'"},
		{"-c file -b 5", "'-b'"},
		{"-c file -B 5", "'-B'"},
	};
	struct record_options o;
	struct err_text e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (parse(cases[i].line, &o, &e) != -EINVAL)
			fail_msg("'%s' was accepted", cases[i].line);
		if (!strstr(e.text, cases[i].word))
			fail_msg("'%s': '%s' does not say '%s'", cases[i].line, e.text,
				 cases[i].word);
	}
}

static void test_the_help_names_every_option(void **state)
{
	static const char *const options[] = {
		"-t, --time", "-b, --buffer", "-B, --ring",   "-c, --config", "--txt",
		"-o, --out",  "    --socket", "    --strict", "-q, --quiet",  "-h, --help",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		assert_non_null(strstr(record_usage, options[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_with_what_they_mean_by_default),
		cmocka_unit_test(test_options_stand_before_between_and_after_words),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_a_config_instead_of_words),
		cmocka_unit_test(test_help_wins),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_the_help_names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
