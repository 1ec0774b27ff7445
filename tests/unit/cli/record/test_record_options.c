// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "cli/record/record_options.h"

#define MAX_ARGS 32

/* Splits a line at blanks and parses it; "''" is an empty argument, and '~' a blank inside of one.
 * The words live in buf. */
static int parse(const char *line, struct record_options *o, struct err_text *e)
{
	static char buf[512], *argv[MAX_ARGS];
	int argc = 0;

	snprintf(buf, sizeof(buf), "record %s", line);
	for (char *p = strtok(buf, " "); p && argc < MAX_ARGS - 1; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "''") ? p : p + 2;
	for (int i = 0; i < argc; i++)
		for (char *p = argv[i]; (p = strchr(p, '~'));)
			*p = ' ';
	argv[argc] = NULL;
	return record_options_parse(argc, argv, o, e);
}

/* Stays until the next call. */
static struct record_options good(const char *line)
{
	static struct record_options o;
	struct err_text e;

	record_options_deinit(&o);
	if (parse(line, &o, &e))
		fail_msg("'%s' was refused: %s", line, e.text);
	return o;
}

static int forget(void **state)
{
	good("-h");
	return 0;
}

TEST(test_words_with_what_they_mean_by_default)
{
	struct record_options o = good("sched irq/*");

	assert_int_equal(o.words.n, 2);
	assert_string_equal(o.words.args[0], "sched");
	assert_string_equal(o.words.args[1], "irq/*");
	assert_int_equal(o.duration_ms, 0);
	assert_int_equal(o.buffer_kb, 0);
	assert_true(record_options_stream(&o));
	assert_int_equal(o.ring_kb, 0);
	assert_int_equal(o.subbuf_kb, 0);
	assert_int_equal(o.pids.n, 0);
	assert_null(o.config);
	assert_null(o.command);
	assert_null(o.output);
	assert_null(o.socket);
	assert_false(o.strict || o.quiet || o.help || o.config_is_text);
	assert_false(o.all || o.has_cpus || o.ksyms || o.function_graph || o.mono_raw_clock);
}

TEST(test_options_stand_before_between_and_after_words)
{
	struct record_options o = good("-t 5 sched --buffer=64mb irq/* -o x.pftrace -q --strict");

	assert_int_equal(o.words.n, 2);
	assert_string_equal(o.words.args[1], "irq/*");
	assert_int_equal(o.duration_ms, 5000);
	assert_int_equal(o.buffer_kb, 65536);
	assert_false(record_options_stream(&o));
	assert_string_equal(o.output, "x.pftrace");
	assert_true(o.quiet && o.strict);
}

TEST(test_events_with_and_without_their_option)
{
	struct record_options o = good("a -e b --event c d --event=!e -ef");

	assert_int_equal(o.words.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(o.words.args[i],
				    ((const char *[]){"a", "b", "c", "d", "!e", "f"})[i]);
}

TEST(test_filters_and_triggers_know_their_word)
{
	struct record_options o = good("a --filter x>1 -t 5 --filter=y b c --trigger stacktrace "
				       "--filter z --trigger traceoff:2~if~ret~<~0");

	assert_int_equal(o.n_filters, 3);
	assert_int_equal(o.filters[0].word, 0);
	assert_string_equal(o.filters[0].expr, "x>1");
	assert_int_equal(o.filters[1].word, 0);
	assert_string_equal(o.filters[1].expr, "y");
	assert_int_equal(o.filters[2].word, 2);
	assert_int_equal(o.n_triggers, 2);
	assert_int_equal(o.triggers[1].word, 2);
	assert_int_equal(o.triggers[1].trigger.count, 2);
	assert_string_equal(o.triggers[1].trigger.filter, "ret < 0");
}

TEST(test_whose_events)
{
	struct record_options o = good("-p 12,34 -C 0,2 sched --pid=5,12 --cpu 4");
	struct strbuf mask = {0};

	assert_int_equal(o.pids.n, 3);
	assert_int_equal(o.pids.pids[2], 5);
	assert_true(o.has_cpus);
	cpu_list_mask(&o.cpus, &mask);
	assert_string_equal(mask.s, "15");
	strbuf_deinit(&mask);
}

TEST(test_a_command)
{
	struct record_options o = good("-q sched -- ./app -t 5 --help -- -o x");

	assert_true(o.quiet);
	assert_int_equal(o.words.n, 1);
	assert_int_equal(o.duration_ms, 0);
	assert_string_equal(o.command[0], "./app");
	assert_string_equal(o.command[3], "--help");
	assert_string_equal(o.command[4], "--");
	assert_string_equal(o.command[6], "x");
	assert_null(o.command[7]);
	assert_true(good("-a sched -- ls").all);
	assert_string_equal(good("-c file -- ls").command[0], "ls");
	assert_string_equal(good("-p 1 sched -- ls").command[0], "ls");
	/* The value of an option. */
	assert_string_equal(good("sched -o --").output, "--");
	assert_null(good("sched -o --").command);
}

TEST(test_what_makes_events_of_its_own)
{
	struct record_options o = good("--syscalls read,write --kprobe a --kretprobe b --uprobe c");

	assert_int_equal(o.words.n, 0);
	assert_string_equal(o.syscalls.args[0], "read,write");
	assert_int_equal(o.n_kprobes, 2);
	assert_false(o.kprobes[0].on_return);
	assert_true(o.kprobes[1].on_return);
	assert_string_equal(o.uprobes.args[0], "c");
	o = good("--function-graph=f --function-graph --function-filter g --function-depth 2");
	assert_true(o.function_graph);
	assert_int_equal(o.graph_roots.n, 1);
	assert_string_equal(o.graph_filters.args[0], "g");
	assert_int_equal(o.graph_depth, 2);
	/* A word behind it is an event. */
	o = good("--function-graph sched");
	assert_int_equal(o.graph_roots.n, 0);
	assert_int_equal(o.words.n, 1);
}

TEST(test_no_priority)
{
	assert_false(good("sched").no_priority);
	assert_true(good("sched --no-priority").no_priority);
}

TEST(test_clocks)
{
	assert_true(good("sched --clock mono_raw").mono_raw_clock);
	assert_false(good("sched --clock mono_raw --clock boot").mono_raw_clock);
}

TEST(test_times)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} cases[] = {{"10", 10000},   {"10s", 10000}, {"500ms", 500},	  {"2m", 120000},
		     {"1h", 3600000}, {"1.5s", 1500}, {"168h", 604800000}};
	char line[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "-t %s sched", cases[i].text);
		assert_int_equal(good(line).duration_ms, cases[i].ms);
		snprintf(line, sizeof(line), "--time=%s sched", cases[i].text);
		assert_int_equal(good(line).duration_ms, cases[i].ms);
	}
}

TEST(test_sizes)
{
	assert_int_equal(good("-b 512k sched").buffer_kb, 512);
	assert_int_equal(good("-b 1gb sched").buffer_kb, 1 << 20);
	assert_int_equal(good("-b 4194303kb sched").buffer_kb, 4194303);
	assert_int_equal(good("-B 8mb sched").ring_kb, 8192);
	assert_int_equal(good("--ring 64kb sched").ring_kb, 64);
	assert_int_equal(good("--subbuf 16k sched").subbuf_kb, 16);
}

TEST(test_call_stacks_as_perf_record_takes_them)
{
	assert_int_equal(good("-F 999 -g").stack_hz, 999);
	assert_int_equal(good("-g -F 999 -a").stack_hz, 999);
	assert_int_equal(good("-g sched").stack_hz, good("--cpu-stacks sched").stack_hz);
}

TEST(test_a_config_and_what_is_added_to_it)
{
	struct record_options o = good("-c - --txt -o -");

	assert_string_equal(o.config, "-");
	assert_true(o.config_is_text);
	assert_string_equal(o.output, "-");
	assert_string_equal(good("--config file --socket @name").socket, "@name");
	o = good("-c file sched -t 5 -b 1mb --clock boot -p 1 -P io");
	assert_string_equal(o.config, "file");
	assert_int_equal(o.words.n, 2);
	assert_int_equal(o.duration_ms, 5000);
	assert_true(o.has_clock && !o.mono_raw_clock);
	assert_int_equal(good("-c file --max-size 1gb").max_bytes, 1 << 30);
}

/* They are words, in their place among the others. */
TEST(test_presets)
{
	struct record_options o = good("sched -P io,net !net -P mem --filter x");

	assert_int_equal(o.words.n, 4);
	assert_string_equal(o.words.args[1], "io,net");
	assert_string_equal(o.words.args[3], "mem");
	assert_int_equal(o.presets.n, 2);
	assert_string_equal(o.presets.args[1], "mem");
	assert_int_equal(o.filters[0].word, 3);
}

TEST(test_show_config)
{
	assert_false(good("sched").show_config);
	assert_true(good("sched --show-config").show_config);
	assert_false(good("sched --show-config=text").show_binary);
	assert_true(good("sched --show-config=binary").show_binary);
}

/* A value that was left out is not found in the option behind it. */
TEST(test_a_value_that_is_an_option)
{
	static const char *const lines[] = {"--syscalls -o x", "--syscalls --out x", "sched -o -t5",
					    "-c --out=x", "-e -q sched"};
	struct record_options o;
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(parse(lines[i], &o, &e), -EINVAL);
		assert_non_null(strstr(e.text, "needs a value, not another option"));
	}
	/* These are none. */
	assert_string_equal(good("-o - sched").output, "-");
	assert_string_equal(good("-o ./-t5 sched").output, "./-t5");
	assert_string_equal(good("--out=-t5 sched").output, "-t5");
	assert_string_equal(good("-o--nosuch sched").output, "--nosuch");
}

TEST(test_the_summarys_form)
{
	struct record_options o;
	struct err_text e;

	assert_true(good("--json sched").json);
	assert_true(good("--exit-code sched -- true").exit_code);
	assert_int_equal(parse("--exit-code sched", &o, &e), -EINVAL);
	assert_string_equal(e.text, "--exit-code needs a command");
	assert_int_equal(parse("--json -o - sched", &o, &e), -EINVAL);
}

TEST(test_help_wins)
{
	struct record_options o = good("-h");

	assert_true(o.help);
	assert_true(good("--help").help);
	assert_true(good("sched --help --nonsense").help);
}

TEST(test_refused)
{
	static const struct {
		const char *line;
		const char *word; /* of the sentence */
	} cases[] = {
		{"", "nothing to record"},
		{"-t 5", "nothing to record"},
		{"--txt sched", "--txt"},
		{"sched --show-config=json", "--show-config=json: use text or binary"},
		{"-P", "-P needs a value"},
		{"-t", "-t needs a value"},
		{"--buffer", "--buffer needs a value"},
		{"-t 5x sched", "-t 5x"},
		{"-t -1 sched", "-t -1"},
		{"-t '' sched", "-t : not a duration"},
		{"-t 169h sched", "7 days"},
		{"-t 99999999999999999999 sched", "7 days"},
		{"-b 10lb sched", "-b 10lb"},
		{"-b 0 sched", "must not be 0"},
		{"-b 4194304 sched", "4 GiB"},
		{"-b 64 sched", "-b 64: the unit is missing; write 64mb, or 64kb"},
		{"-B 1.5 sched", "write 1.5mb, or 1.5kb"},
		{"--subbuf 16 sched", "--subbuf 16: the unit is missing"},
		{"--max-size 100 sched", "--max-size 100: the unit is missing"},
		{"-F 0", "-F 0: not a number greater than 0"},
		{"-b 99999999999999gb sched", "4 GiB"},
		{"-B 0 sched", "-B 0"},
		{"-x sched", "unknown option -x"},
		{"-qx sched", "unknown option -x"},
		{"--nonsense sched", "unknown option --nonsense"},
		{"--strict=yes sched", "--strict=yes"},
		{"-o '' sched", "-o needs"},
		{"--filter x sched", "--filter must follow the event"},
		{"--trigger x sched", "--trigger must follow the event"},
		{"sched !x --filter y", "cannot follow '!x', which excludes events"},
		{"sched --kprobe f --filter y", "--filter must follow the event"},
		{"sched --syscalls f --trigger y", "--trigger must follow the event"},
		{"sched --filter ''", "the condition is empty"},
		{"sched --filter ~", "the condition is empty"},
		{"sched --trigger stacktrac", "did you mean stacktrace"},
		{"sched -p x", "-p: 'x' is not a process id"},
		{"sched -C 3-1", "-C 3-1: not a list of CPUs"},
		{"sched -C 9999", "CPU number is too large"},
		{"sched -a -p 1", "-a and -p cannot be combined"},
		{"sched --clock tai", "boot or mono_raw"},
		{"sched --subbuf 0", "--subbuf 0: the size of a buffer must not be 0"},
		{"--cpu-stacks=0", "--cpu-stacks"},
		{"--cpu-stacks=often", "--cpu-stacks"},
		{"sched --function-depth 2", "--function-depth needs --function-graph"},
		{"sched --function-filter x", "--function-filter needs --function-graph"},
		{"--function-graph --function-depth 0", "not a number greater than 0"},
		{"-C 0", "nothing to record"},
		{"-- ls", "nothing to record"},
		{"sched --", "there is no command after --"},
		{"--", "there is no command after --"},
		{"sched -o - -- ls", "would mix on standard output"},
		{"sched --filtr x", "unknown option --filtr; did you mean --filter?"},
		{"sched --tim 5 --syscal", "--syscal needs a value"},
	};
	struct record_options o;
	struct err_text e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (parse(cases[i].line, &o, &e) != -EINVAL)
			fail_msg("'%s' was accepted", cases[i].line);
		if (!strstr(e.text, cases[i].word))
			fail_msg("'%s': '%s' does not say '%s'", cases[i].line, e.text,
				 cases[i].word);
	}
}

/* Whatever is typed, the sentence is short. */
TEST(test_arguments_of_any_length_and_number)
{
	static char *argv[20002], big[1 << 20];
	struct record_options o;
	struct err_text e;

	memset(big, '1', sizeof(big) - 1);
	argv[0] = (char *)"record";
	for (size_t i = 0; i < 12; i++) {
		static const char *const options[] = {
			"-t",	    "-b",	"-p",	     "-C",
			"--subbuf", "--clock",	"--trigger", "--function-depth",
			"-ofile",   "--nosuch", "-c",	     "--filter"};

		argv[1] = (char *)"sched";
		argv[2] = (char *)options[i];
		argv[3] = big;
		argv[4] = NULL;
		if (record_options_parse(4, argv, &o, &e))
			assert_true(strlen(e.text) < 300);
		else
			record_options_deinit(&o);
	}
	for (int i = 1; i < 20001; i += 2) {
		argv[i] = (char *)"-e";
		argv[i + 1] = (char *)"sched";
	}
	argv[20001] = NULL;
	assert_int_equal(record_options_parse(20001, argv, &o, &e), 0);
	assert_int_equal(o.words.n, 10000);
	record_options_deinit(&o);
}

TEST_GROUP(NULL, forget)
