// SPDX-License-Identifier: Apache-2.0
/* The help of `sonda record` says what its command line takes: no more, no less, on one screen. */
#include <ctype.h>

#include "unit/test.h"
#include "cli/terminal/event_patterns.h"
#include "cli/record/record_options.h"

TEST(test_it_names_every_option)
{
	static const char *const options[] = {
		"-e (--event)",	      "-P, --preset",	     "  --show-config", "  --filter",
		"  --trigger",	      "  --syscalls",	     "  --kprobe",	"  --kretprobe",
		"  --uprobe",	      "  --function-graph[", "  --ksyms",	"  --app",
		"  --function-depth", "  --function-filter", "-p, --pid",	"-a, --all",
		"-C, --cpu",	      "-t, --time",	     "-b, --buffer",	"-B, --ring",
		"  --subbuf",	      "  --clock",	     "-c, --config",	"  --txt",
		"-o, --out",	      "    --socket",	     "    --strict",	"-q, --quiet",
		"-h, --help",	      "    --detach NAME",
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strstr(record_usage, options[i]))
			fail_msg("no word of %s", options[i]);
}

/* Not wider than a terminal of today, and no longer. */
TEST(test_it_is_one_screen)
{
	size_t lines = 0;

	for (const char *p = record_usage, *end; *p; p = end + 1, lines++) {
		end = strchr(p, '\n');
		assert_non_null(end);
		assert_true(end - p <= 90);
	}
	assert_true(lines <= 50);
}

/* Does the command line say that there is no such option? It may well want a value, or an event. */
static bool is_unknown(char *option)
{
	char *argv[] = {(char[]){"record"}, option, NULL};
	struct record_options o = {0};
	struct err_text e = {0};
	bool unknown = false;

	if (record_options_parse(2, argv, &o, &e))
		unknown = strstr(e.text, "unknown option");
	else
		record_options_deinit(&o);
	return unknown;
}

/* The next "-x" or "--name" at or behind p, in option; NULL: there is none. */
static const char *next_option(const char *p, char option[32])
{
	size_t len;

	for (; (p = strchr(p, '-')); p++) {
		if (p > record_usage && !strchr(" (\n", p[-1]))
			continue;
		len = strspn(p, "-");
		if (len > 2 || !isalpha((unsigned char)p[len]))
			continue;
		len += len == 1 ? 1 : strspn(p + len, "abcdefghijklmnopqrstuvwxyz-");
		snprintf(option, 32, "%.*s", (int)len, p);
		return p + len;
	}
	return NULL;
}

TEST(test_every_option_that_it_names_is_one)
{
	const char *p = record_usage;
	char option[32];
	unsigned n = 0;

	assert_true(is_unknown((char[]){"--nosuch"}));
	assert_true(is_unknown((char[]){"-x"}));
	while ((p = next_option(p, option))) {
		n++;
		if (is_unknown(option))
			fail_msg("there is no %s", option);
	}
	assert_true(n > 30);
}

/* What stands there between quotes, as a value of its option. */
TEST(test_its_examples_are_good)
{
	char *argv[] = {(char[]){"record"},
			(char[]){"GROUP:*"},
			(char[]){"*irq*"},
			(char[]){"!sched_stat_*"},
			(char[]){"sched"},
			(char[]){"irq"},
			(char[]){"processes"},
			(char[]){"block"},
			(char[]){"sched:sched_switch"},
			(char[]){"--filter"},
			(char[]){"prev_prio < 100"},
			(char[]){"--trigger"},
			(char[]){"stacktrace"},
			(char[]){"--syscalls"},
			(char[]){"read,openat"},
			(char[]){"--uprobe"},
			(char[]){"p:mine ./app:0x1160"},
			(char[]){"-p"},
			(char[]){"12,34"},
			(char[]){"-C"},
			(char[]){"0,2-5"},
			(char[]){"-t"},
			(char[]){"500ms"},
			(char[]){"-b"},
			(char[]){"64mb"},
			(char[]){"--clock"},
			(char[]){"mono_raw"},
			NULL};
	struct record_options o;
	struct err_text e;

	for (size_t i = 1; argv[i]; i++)
		if (!strstr(record_usage, argv[i]))
			fail_msg("no word of %s", argv[i]);
	if (record_options_parse((int)ARRAY_SIZE(argv) - 1, argv, &o, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < o.words.n; i++) {
		struct event_requests r = {0};

		if (event_pattern_read(o.words.args[i], NULL, NULL, &r, &e))
			fail_msg("%s", e.text);
		event_requests_deinit(&r);
	}
	record_options_deinit(&o);
}

TEST(test_what_it_says_of_those_not_given)
{
	char *argv[] = {(char[]){"record"}, (char[]){"sched"}, NULL};
	struct record_options o;
	struct err_text e;

	assert_int_equal(record_options_parse(2, argv, &o, &e), 0);
	assert_non_null(strstr(record_usage, "boot (default)"));
	assert_false(o.mono_raw_clock);
	record_options_deinit(&o);
}
