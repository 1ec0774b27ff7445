/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a command line of sonda record to the config, which is compared as text, or to the sentence
 * that refuses it. Lines are split at blanks; '~' is a blank inside of an argument, "''" an empty
 * argument.
 */

#include <ctype.h>
#include <pthread.h>

#include "cli/record/record_config.h"
#include "cli/record/record_threads.h"
#include "cli/report/config_sources.h"
#include "config/source_merge.h"
#include "config/trace_config.h"
#include "unit/cli/kernel_events.h"
#include "unit/proto_text.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct presets *presets; /* those of the program */
static struct err_text why;
static struct record_options options; /* of the last line */
/* The config of the last line, and its words that exclude nothing. */
static Pb__TraceConfig *config;
static struct event_requests idle;

static int setup(void **state)
{
	static const char *const no_dirs[] = {NULL};

	presets = presets_new(no_dirs);
	return kernel_events_setup(state);
}

static int teardown(void **state)
{
	pb__trace_config__free_unpacked(config, NULL);
	record_options_deinit(&options);
	event_requests_deinit(&idle);
	presets_free(presets);
	return kernel_events_teardown(state);
}

static int parse(const char *line)
{
	static char buf[2048], *argv[64];
	int argc = 0;

	record_options_deinit(&options);
	snprintf(buf, sizeof(buf), "record %s", line);
	for (char *p = strtok(buf, " "); p; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "''") ? p : p + 2;
	for (int i = 0; i < argc; i++)
		for (char *p = argv[i]; (p = strchr(p, '~'));)
			*p = ' ';
	argv[argc] = NULL;
	return record_options_parse(argc, argv, &options, &why);
}

/* Adds the line to the config in text; NULL: makes a config of it. */
static int config_of(const char *base, const char *line)
{
	struct strbuf errors = {0};
	int r = parse(line);

	event_requests_deinit(&idle);
	pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	if (r)
		return r;
	if (base &&
	    trace_config_load("file", base, strlen(base), TRACE_CONFIG_TEXT, &errors, &config))
		fail_msg("%s", errors.s);
	r = record_config_build(&options, &events, presets, &why, &idle, &config);
	if (r)
		pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	return r;
}

static void build(const char *line)
{
	if (config_of(NULL, line))
		fail_msg("'%s' was refused: %s", line, why.text);
}

static void check_ftrace(const char *line, const char *expected)
{
	build(line);
	assert_int_equal(idle.n, 0);
	assert_proto(&config->data_sources[0]->config->ftrace_config->base, expected);
}

TEST(the_config_of_a_word)
{
	build("-b 32mb sched");
	assert_proto(
		&config->base,
		"buffers { size_kb: 32768 fill_policy: RING_BUFFER } "
		"buffers { size_kb: 4096 fill_policy: RING_BUFFER name: 'names' } "
		"data_sources { config { name: 'linux.ftrace' ftrace_config { "
		"ftrace_events: ['sched/sched_switch', 'sched/sched_waking', "
		"'sched/sched_wakeup_new', 'sched/sched_process_exec', 'sched/sched_process_exit', "
		"'sched/sched_process_fork', 'sched/sched_process_free', 'task/task_newtask', "
		"'task/task_rename'] } } } "
		"data_sources { config { name: 'linux.process_stats' target_buffer: 1 "
		"process_stats_config { scan_all_processes_on_start: true "
		"record_thread_names: true } } } "
		"data_sources { config { name: 'linux.system_info' target_buffer: 1 } } "
		"flush_period_ms: 30000 incremental_state_config { clear_period_ms: 30000 }");
}

/* It is overwritten nowhere, so nothing is kept elsewhere or repeated. */
TEST(a_trace_that_streams_into_a_file_has_one_buffer)
{
	build("sched");
	assert_true(record_options_want_streaming(&options));
	assert_int_equal(config->n_buffers, 1);
	assert_int_equal(config->buffers[0]->size_kb, 32768);
	for (size_t i = 0; i < config->n_data_sources; i++)
		assert_int_equal(config->data_sources[i]->config->target_buffer, 0);
	assert_null(config->incremental_state_config);
	record_config_enable_streaming(config, 1000);
	assert_true(config->write_into_file);
	assert_int_equal(config->file_write_period_ms, 250);
	assert_int_equal(config->max_file_size_bytes, 1000);
}

TEST(times_and_sizes)
{
	static const struct {
		const char *line;
		uint32_t ms, kb;
	} rows[] = {
		{"-t 10 sched", 10000, 32768},
		{"-t 10s sched -b 512k", 10000, 512},
		{"--time=500ms sched --buffer=1.5mb", 500, 1536},
		{"-t 2m -b 64kb irq/*", 120000, 64},
		{"-t 1.5s -b 1gb sched", 1500, 1 << 20},
		{"-t 1h -b 4194303kb sched", 3600000, 4194303},
		{"-t 168h sched", 604800000, 32768},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build(rows[i].line);
		assert_int_equal(config->duration_ms, rows[i].ms);
		assert_int_equal(config->buffers[0]->size_kb, rows[i].kb);
	}
}

TEST(the_daemons_keep_their_priority_with_no_priority)
{
	build("sched");
	assert_null(config->priority_boost);
	assert_null(config->data_sources[0]->config->priority_boost);
	build("--no-priority sched");
	assert_proto(&config->priority_boost->base, "policy: POLICY_SCHED_OTHER priority: 0");
	assert_non_null(config->data_sources[0]->config->priority_boost);
	build("--no-priority --strace=openat off-cpu stacks");
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *source = config->data_sources[i]->config;
		bool is_timely = strcmp(source->name, "linux.process_stats") != 0 &&
				 strcmp(source->name, "linux.system_info") != 0;

		assert_int_equal(source->priority_boost != NULL, is_timely);
	}
	assert_true(config->n_data_sources >= 4);
}

TEST(what_ftrace_records)
{
	static const struct {
		const char *line, *config;
	} rows[] = {
		{"irq/* -B 8mb --subbuf 64k --clock mono_raw -C 0,2-5 --cpu 33",
		 "ftrace_events: 'irq/*' buffer_size_kb: 8192 use_monotonic_raw_clock: true "
		 "tracing_cpumask: '2,0000003d' subbuf_size_kb: 64"},
		{"irq/* --ring 64kb --clock mono_raw --clock boot",
		 "ftrace_events: 'irq/*' buffer_size_kb: 64"},
		/* Masks of CPUs. */
		{"irq/* -C 31", "ftrace_events: 'irq/*' tracing_cpumask: '80000000'"},
		{"irq/* -C 32", "ftrace_events: 'irq/*' tracing_cpumask: '1,00000000'"},
		{"irq/* -C 64,1", "ftrace_events: 'irq/*' tracing_cpumask: '1,00000000,00000002'"},
		{"irq/* -C 4,4,2-3,3 -C 007", "ftrace_events: 'irq/*' tracing_cpumask: '9c'"},
		/* Words with and without -e. */
		{"-e irq/softirq_entry irq_handler_entry --event=!softirq* -emsr:*",
		 "ftrace_events: 'irq/irq_handler_entry' ftrace_events: 'msr/write_msr'"},
		/* A filter is about the word before it. */
		{"block_rq_issue -e sched:* --filter prev_prio~<~100~||~x~==~1 --filter "
		 "next_pid~!=~0 -e !*waking irq/*",
		 "ftrace_events: 'block/block_rq_issue' ftrace_events: 'sched/sched_switch' "
		 "ftrace_events: 'sched/sched_wakeup' ftrace_events: 'irq/*' "
		 "event_filters { event: 'sched/*' filter: 'prev_prio < 100 || x == 1' } "
		 "event_filters { event: 'sched/*' filter: 'next_pid != 0' }"},
		{"sched_waking,softirq*,msr:write_msr --filter x !msr:*",
		 "ftrace_events: 'sched/sched_waking' ftrace_events: 'irq/softirq_entry' "
		 "ftrace_events: 'irq/softirq_exit' "
		 "event_filters { event: 'sched_waking' filter: 'x' } "
		 "event_filters { event: 'softirq*' filter: 'x' }"},
		{"--event softirq_entry --filter=vec~==~1 *irq* --filter vec~==~2",
		 "ftrace_events: 'irq/*' "
		 "event_filters { event: 'softirq_entry' filter: 'vec == 1' } "
		 "event_filters { event: '*irq*' filter: 'vec == 2' }"},
		/* So is a trigger. */
		{"sched:sched_switch --trigger stacktrace block/block_rq_issue --trigger "
		 "traceoff:3~~if~~nr_sector~>~8 --trigger traceon~",
		 "ftrace_events: 'sched/sched_switch' ftrace_events: 'block/block_rq_issue' "
		 "symbolize_ksyms: true "
		 "event_triggers { event: 'sched/sched_switch' action: ACTION_STACKTRACE } "
		 "event_triggers { event: 'block/block_rq_issue' action: ACTION_TRACEOFF "
		 "filter: 'nr_sector > 8' count: 3 } "
		 "event_triggers { event: 'block/block_rq_issue' action: ACTION_TRACEON }"},
		/* A word that stands for several events: those of them that are left. */
		{"sched --trigger traceoff !sched:*",
		 "ftrace_events: 'task/task_newtask' ftrace_events: 'task/task_rename' "
		 "event_triggers { event: 'task/task_newtask' action: ACTION_TRACEOFF } "
		 "event_triggers { event: 'task/task_rename' action: ACTION_TRACEOFF }"},
		/* Options that make events. */
		{"--syscalls read,sys_write --syscalls openat,compat_sys_openat",
		 "syscall_events: 'sys_read' syscall_events: 'sys_write' "
		 "syscall_events: 'sys_openat' syscall_events: 'compat_sys_openat'"},
		{"--kprobe vfs_read --kretprobe vfs_write --kretprobe vfs_read --kprobe "
		 "p:mine~do_sys_open~flags=%dx --kprobe r8:back~vfs_open~$retval --kprobe "
		 "p~vfs_open",
		 "kprobe_events { probe: 'vfs_read' type: KPROBE_TYPE_BOTH } "
		 "kprobe_events { probe: 'vfs_write' type: KPROBE_TYPE_KRETPROBE } "
		 "kprobe_events { definition: 'p:mine do_sys_open flags=%dx' } "
		 "kprobe_events { definition: 'r8:back vfs_open $retval' } "
		 "kprobe_events { definition: 'p vfs_open' }"},
		{"--kprobe vfs_read --kprobe-span vfs_read --kretprobe vfs_open --kprobe-span "
		 "vfs_open --kprobe-span vfs_write --kprobe vfs_write",
		 "kprobe_events { probe: 'vfs_read' type: KPROBE_TYPE_BOTH } "
		 "kprobe_events { probe: 'vfs_open' type: KPROBE_TYPE_BOTH } "
		 "kprobe_events { probe: 'vfs_write' type: KPROBE_TYPE_BOTH }"},
		/* Functions that begin like a line of kprobe_events. */
		{"--kprobe printk --kprobe r --kprobe p10",
		 "kprobe_events { probe: 'printk' type: KPROBE_TYPE_KPROBE } "
		 "kprobe_events { probe: 'r' type: KPROBE_TYPE_KPROBE } "
		 "kprobe_events { probe: 'p10' type: KPROBE_TYPE_KPROBE }"},
		{"--uprobe p:mine~/bin/bash:0x4a2f0~%ip --uprobe r~/bin/sh:0x10",
		 "uprobe_events: 'p:mine /bin/bash:0x4a2f0 %ip' "
		 "uprobe_events: 'r /bin/sh:0x10'"},
		{"--ksyms msr:*", "ftrace_events: 'msr/write_msr' symbolize_ksyms: true"},
		{"--function-graph", "symbolize_ksyms: true enable_function_graph: true"},
		/* A word behind it is an event. */
		{"--function-graph msr:*", "ftrace_events: 'msr/write_msr' symbolize_ksyms: true "
					   "enable_function_graph: true"},
		{"--function-graph=vfs_read --function-graph=vfs_write --function-filter vfs_* "
		 "--function-depth 3",
		 "symbolize_ksyms: true enable_function_graph: true function_filters: 'vfs_*' "
		 "function_graph_roots: 'vfs_read' function_graph_roots: 'vfs_write' "
		 "function_graph_max_depth: 3"},
		{"sched_switch irq-events io-events !io-events",
		 "ftrace_events: 'sched/sched_switch' ftrace_events: 'irq/*'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_ftrace(rows[i].line, rows[i].config);
}

TEST(words_that_exclude_nothing_are_returned)
{
	build("irq/* !nosuch");
	assert_int_equal(idle.n, 1);
	assert_string_equal(idle.names[0], "!nosuch");
}

/* ---- what is not in the config ---- */

static void parse_good(const char *line)
{
	if (parse(line))
		fail_msg("'%s' was refused: %s", line, why.text);
}

TEST(options_stand_before_between_and_after_words)
{
	parse_good("-q sched --strict irq/* -o x.pftrace --socket @name --json --detach name");
	assert_int_equal(options.words.n, 2);
	assert_true(options.quiet && options.strict && options.json);
	assert_string_equal(options.output, "x.pftrace");
	assert_string_equal(options.socket, "@name");
	assert_string_equal(options.detach, "name");
	parse_good("sched");
	assert_false(options.quiet || options.strict || options.json || options.all ||
		     options.show_config || options.has_cpus || options.config_is_text);
	assert_null(options.output);
	assert_null(options.socket);
	parse_good("-c - --txt -o - --max-size 1gb -P io,net !net -P mem");
	assert_string_equal(options.config, "-");
	assert_true(options.config_is_text);
	assert_int_equal(options.max_bytes, 1 << 30);
	assert_int_equal(options.words.n, 3);
	assert_int_equal(options.presets.n, 2);
	parse_good("sched --show-config=binary");
	assert_true(options.show_config && options.show_binary);
	parse_good("sched --show-config=text");
	assert_true(options.show_config && !options.show_binary);
	parse_good("sched --help --nonsense");
	assert_true(options.help);
}

TEST(processes)
{
	static const uint32_t expected[] = {12, 34, INT32_MAX, 5};

	parse_good("-p 12,34,12 sched --pid=2147483647,34 -p 5");
	assert_int_equal(options.pids.n, 4);
	assert_memory_equal(options.pids.pids, expected, sizeof(expected));
}

TEST(a_command)
{
	parse_good("-q sched -- ./app -t 5 --help -- -o x");
	assert_true(options.quiet);
	assert_int_equal(options.words.n, 1);
	assert_int_equal(options.duration_ms, 0);
	assert_string_equal(options.command[0], "./app");
	assert_string_equal(options.command[3], "--help");
	assert_string_equal(options.command[4], "--");
	assert_string_equal(options.command[6], "x");
	assert_null(options.command[7]);
	parse_good("-c file --exit-code -- ls");
	assert_true(options.exit_code);
	assert_string_equal(options.command[0], "ls");
	parse_good("sched -o --"); /* the value of an option */
	assert_string_equal(options.output, "--");
	assert_null(options.command);
}

TEST(values_that_look_like_options)
{
	static const char *const lines[] = {"--syscalls -o x", "--syscalls --out x", "sched -o -t5",
					    "-c --out=x", "-e -q sched"};

	/* A forgotten value is not taken from the option behind it. */
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(parse(lines[i]), -EINVAL);
		assert_non_null(strstr(why.text, "needs a value, but '"));
	}
	parse_good("sched -o ./-t5");
	parse_good("--out=-t5 sched");
	assert_string_equal(options.output, "-t5");
	parse_good("-o--nosuch sched");
	assert_string_equal(options.output, "--nosuch");
}

/* ---- refused ---- */

TEST(refused)
{
	static const struct {
		const char *line, *words; /* of the sentence */
	} rows[] = {
		{"", "nothing to record"},
		{"-t 5", "nothing to record"},
		{"-C 0", "nothing to record"},
		{"-- ls", "nothing to record"},
		{"sched --", "no command after --"},
		{"--", "no command after --"},
		{"--txt sched", "--txt"},
		{"sched --show-config=json", "--show-config=json: use text or binary"},
		{"--exit-code sched", "--exit-code requires a command"},
		{"--json -o - sched", "--json"},
		{"sched -o - -- ls", "would both go to standard output"},
		{"-o '' sched", "-o needs"},
		/* Options. */
		{"-x sched", "unknown option -x"},
		{"-qx sched", "unknown option -x"},
		{"--nonsense sched", "unknown option --nonsense"},
		{"sched --filtr x", "unknown option --filtr; did you mean --filter?"},
		{"--strict=yes sched", "--strict=yes"},
		{"-P", "-P needs a value"},
		{"-t", "-t needs a value"},
		{"--buffer", "--buffer needs a value"},
		{"sched --tim 5 --syscal", "--syscal needs a value"},
		/* Times. */
		{"-t 5x sched", "-t 5x: not a duration; examples: 10, 10s, 500ms, 2m"},
		{"-t -1 sched", "-t -1"},
		{"-t '' sched", "-t : not a duration"},
		{"-t 0s sched", "must not be 0; without -t the recording lasts until Ctrl-C"},
		{"--time 169h sched", "-t 169h: the maximum duration is 7 days"},
		{"-t 99999999999999999999 sched", "7 days"},
		/* Sizes and numbers. */
		{"-b 10lb sched", "-b 10lb"},
		{"-b ten sched", "-b ten"},
		{"-b 0 sched", "must not be 0"},
		{"-b 4194304 sched", "-b 4194304: a buffer must be smaller than 4 GiB"},
		{"-b 99999999999999gb sched", "4 GiB"},
		{"-b 64 sched", "-b 64: the unit is missing; write 64mb, or 64kb"},
		{"-B 1.5 sched", "write 1.5mb, or 1.5kb"},
		{"-B 0 sched", "-B 0"},
		{"--subbuf 16 sched", "--subbuf 16: the unit is missing"},
		{"sched --subbuf 0", "--subbuf 0: the size of a buffer must not be 0"},
		{"--max-size 100 sched", "--max-size 100: the unit is missing"},
		{"-F 0", "-F 0: not a number greater than 0"},
		{"-F -1", "-F -1: not a number greater than 0"},
		{"-F 4294967296", "not a number greater than 0"},
		{"--cpu-stacks=0", "--cpu-stacks"},
		{"--cpu-stacks=often", "--cpu-stacks"},
		{"--function-graph --function-depth 0", "not a number greater than 0"},
		{"sched --function-depth 2", "--function-depth requires --function-graph"},
		{"sched --function-filter x", "--function-filter requires --function-graph"},
		{"sched --clock tai", "boot or mono_raw"},
		/* Processes and CPUs. */
		{"sched -a -p 1", "-a and -p cannot be combined"},
		{"sched -p ''", "'' is not a process id"},
		{"sched -p 1,", "'' is not a process id"},
		{"sched -p 1,,2", "'' is not a process id"},
		{"sched -p 1,no-such-name", "-p: no process is named 'no-such-name'"},
		{"sched -p 0x1", "no process is named '0x1'"},
		{"sched -p 1~2", "no process is named '1 2'"},
		/* Subjects. */
		{"sched --unit a --program b", "--program cannot be combined with --unit"},
		{"sched --container a -p 1", "-p cannot be combined with --container"},
		{"sched --cgroup / -a", "-a cannot be combined with --cgroup"},
		{"sched --pod web", "--pod web: expected NAMESPACE/NAME"},
		{"sched --await",
		 "--await requires --unit, --container, --pod, --cgroup or --program"},
		{"sched -p 0", "-p: '0' is not a process id; the range is 1 to 2147483647"},
		{"sched -p 2147483648", "'2147483648' is not a process id; the range is 1 to"},
		{"sched -p 0000000000000012345", "is not a process id; the range is 1 to"},
		{"sched -C 9999", "CPU number is too large"},
		{"sched -C 8192", "CPU number is too large"},
		{"sched -C 0-99999999999999999999", "CPU number is too large"},
		{"sched -C ''", "-C : not a list of CPUs"},
		{"sched -C 3-1", "-C 3-1: not a list of CPUs"},
		{"sched -C 0,", "not a list of CPUs"},
		{"sched -C 0,,1", "not a list of CPUs"},
		{"sched -C 1-2-3", "not a list of CPUs"},
		{"sched -C 0x1", "not a list of CPUs"},
		{"sched -C all", "not a list of CPUs"},
		/* Filters and triggers. */
		{"--filter x sched", "--filter must follow the event"},
		{"--trigger x sched", "--trigger must follow the event"},
		{"sched !x --filter y", "cannot follow '!x', which excludes events"},
		{"sched --kprobe f --filter y", "--filter must follow the event"},
		{"sched --syscalls f --trigger y", "--trigger must follow the event"},
		{"sched --filter ''", "the condition is empty"},
		{"sched --filter ~", "the condition is empty"},
		{"sched --trigger ''",
		 "unknown action ''; the actions are stacktrace, traceon, traceoff"},
		{"sched --trigger hist:keys=pid", "unknown action 'hist'"},
		{"sched --trigger Stacktrace:1", "did you mean stacktrace?"},
		{"sched --trigger traceoff:", "'' is not a count"},
		{"sched --trigger traceoff:0", "'0' is not a count greater than 0"},
		{"sched --trigger traceoff:1:2", "'1:2' is not a count greater than 0"},
		{"sched --trigger traceoff:x~if~a", "'x' is not a count greater than 0"},
		{"sched --trigger traceoff~when~a", "'when a' is not a condition"},
		{"sched --trigger traceoff~if~~", "'if  ' is not a condition"},
		/* Words. */
		{"a/b/c", "'a/b/c' is not a valid event name"},
		{"irq/* !*",
		 "'!*' excludes all events named before it; name at least one other event"},
		{"--syscalls read,,write", "--syscalls: empty name"},
		{"--syscalls ''", "--syscalls: empty name"},
		{"--kretprobe r:x~vfs_read",
		 "--kretprobe expects the name of a function; pass 'r:x vfs_read' with --kprobe"},
		{"mem-counters -B 1mb", "-B applies only to kernel events, and none are recorded"},
		{"stacks -B 1mb -C 0", "-B applies only to kernel events, and none are recorded"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (config_of(NULL, rows[i].line) != -EINVAL)
			fail_msg("'%s' was accepted", rows[i].line);
		if (!strstr(why.text, rows[i].words))
			fail_msg("'%s': %s", rows[i].line, why.text);
	}
}

TEST(the_number_of_processes_has_a_limit)
{
	char **argv = calloc(2 * PID_LIST_MAX + 8, sizeof(*argv));
	char numbers[PID_LIST_MAX + 2][8];
	int argc = 0;

	argv[argc++] = (char *)"record";
	for (int i = 1; i <= PID_LIST_MAX + 1; i++) {
		snprintf(numbers[i], sizeof(numbers[i]), "%d", i);
		argv[argc++] = (char *)"-p";
		argv[argc++] = numbers[i];
	}
	record_options_deinit(&options);
	assert_int_equal(record_options_parse(argc, argv, &options, &why), -EINVAL);
	assert_string_equal(why.text, "-p: too many processes; the limit is 4096");
	free(argv);
}

/* Whatever is typed, the sentence is short. */
TEST(arguments_of_any_length)
{
	static const char *const names[] = {"-t",	"-b",	    "-p",	 "-C",
					    "--subbuf", "--clock",  "--trigger", "--function-depth",
					    "-ofile",	"--nosuch", "-c",	 "--filter"};
	static char big[1 << 20];

	memset(big, '1', sizeof(big) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *argv[] = {(char *)"record", (char *)"sched", (char *)names[i], big, NULL};

		record_options_deinit(&options);
		if (record_options_parse(4, argv, &options, &why))
			assert_true(strlen(why.text) < 300);
	}
}

/* ---- the help ---- */

/* It has one screen, and every option that it names is one. */
TEST(the_help_names_options_that_exist)
{
	size_t lines = 0, n = 0;
	char option[32];

	for (const char *p = record_usage, *end; *p; p = end + 1, lines++) {
		end = strchr(p, '\n');
		assert_non_null(end);
		assert_true(end - p <= 90);
	}
	assert_true(lines <= 58);
	for (const char *p = record_usage; (p = strchr(p, '-')); p += strspn(p, "-")) {
		size_t len = strspn(p, "-");

		if ((p > record_usage && !strchr(" (\n", p[-1])) || len > 2 ||
		    !isalpha((unsigned char)p[len]))
			continue;
		n++;
		len += len == 1 ? 1 : strspn(p + len, "abcdefghijklmnopqrstuvwxyz-");
		snprintf(option, sizeof(option), "%.*s", (int)len, p);
		if (parse(option) && strstr(why.text, "unknown option"))
			fail_msg("there is no %s", option);
	}
	assert_true(n > 40);
}

/* ---- threads and CPUs ---- */

TEST(threads_may_be_set_again)
{
	static const uint32_t first[] = {7, 8, 9}, second[] = {7};

	build("irq/*");
	assert_int_equal(record_threads_restrict(config, first, 3), 0);
	assert_int_equal(record_threads_restrict(config, second, 1), 0);
	assert_proto(&config->data_sources[0]->config->ftrace_config->base,
		     "ftrace_events: 'irq/*' tids_to_trace: 7 follow_children: true");
}

static void *wait_to_be_cancelled(void *ctx)
{
	pause();
	return ctx;
}

TEST(threads_of_a_process)
{
	uint32_t me = (uint32_t)getpid(), missing = 1u << 30;
	struct pid_list pids = {.pids = &me, .n = 1};
	Pb__FtraceConfig *f;
	pthread_t thread;
	bool found = false;

	assert_int_equal(pthread_create(&thread, NULL, wait_to_be_cancelled, NULL), 0);
	build("irq/*");
	f = config->data_sources[0]->config->ftrace_config;
	assert_int_equal(record_threads_restrict_to_pids(config, &pids, &why), 0);
	for (size_t i = 0; i < f->n_tids_to_trace; i++)
		found |= f->tids_to_trace[i] == me;
	assert_true(found && f->n_tids_to_trace >= 2 && f->follow_children);
	assert_int_equal(f->n_pids_to_trace, 1);
	assert_int_equal(f->pids_to_trace[0], me);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	pids.pids = &missing;
	assert_int_equal(record_threads_restrict_to_pids(config, &pids, &why), -ESRCH);
	assert_string_equal(why.text, "-p: no process has the ID 1073741824");
}

TEST_WITH(cpus_that_the_machine_has, temp_dir_setup, temp_dir_teardown)
{
	static const struct {
		const char *present, *cpus;
		int result;
	} rows[] = {
		{NULL, "9", 0}, /* the machine does not list them */
		{"0-7\n", "0-2,9", -ENXIO},
		{"0-7\n", "0,7", 0},
		{"garbage\n", "0,9", 0},
		{"", "0,9", 0},
	};

	mkdir(temp_dir_path(state, 0, "devices"), 0700);
	mkdir(temp_dir_path(state, 0, "devices/system"), 0700);
	mkdir(temp_dir_path(state, 0, "devices/system/cpu"), 0700);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cpu_list l = {0};
		FILE *f;

		assert_int_equal(cpu_list_add(&l, rows[i].cpus), 0);
		if (rows[i].present) {
			f = fopen(temp_dir_path(state, 0, "devices/system/cpu/present"), "w");
			fputs(rows[i].present, f);
			fclose(f);
		}
		assert_int_equal(cpu_list_check(&l, *state, &why), rows[i].result);
		if (rows[i].result)
			assert_string_equal(why.text, "-C: this machine has no CPU 9; it has 0-7");
	}
}

static char *text_of(const ProtobufCMessage *message)
{
	struct strbuf b = {0};

	text_print(message, &b);
	return strbuf_take(&b);
}

TEST(events_of_programs)
{
	build("--app net*,disk --app x sched");
	assert_string_equal(config->data_sources[0]->config->name, "linux.ftrace");
	assert_proto(&config->data_sources[3]->config->track_event_config->base,
		     "disabled_categories: '*' enabled_categories: 'net*' "
		     "enabled_categories: 'disk' enabled_categories: 'x'");
}

TEST(events_of_programs_alone_need_no_kernel)
{
	static const uint32_t tids[] = {7};

	build("--app *");
	for (size_t i = 0; i < config->n_data_sources; i++)
		assert_null(config->data_sources[i]->config->ftrace_config);
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
}

static const Pb__FtraceConfig *ftrace_at(size_t i)
{
	assert_in_range(i, 0, config->n_data_sources - 1);
	assert_string_equal(config->data_sources[i]->config->name, "linux.ftrace");
	return config->data_sources[i]->config->ftrace_config;
}

TEST(ends_of_disk_requests_are_those_of_all_threads)
{
	static const uint32_t tids[] = {7};
	const Pb__FtraceConfig *f;
	size_t last;

	build("block:block_rq_issue block:block_rq_complete block:block_io_done");
	for (int again = 0; again < 2; again++) {
		assert_int_equal(record_threads_restrict(config, tids, 1), 0);
		last = config->n_data_sources - 1;
		f = ftrace_at(last);
		assert_int_equal(f->n_tids_to_trace, 0);
		assert_int_equal(f->n_ftrace_events, 2);
		assert_string_equal(f->ftrace_events[0], "block/block_rq_complete");
		assert_string_equal(f->ftrace_events[1], "block/block_io_done");
		f = config_find_ftrace(config)->ftrace_config;
		assert_int_equal(f->n_tids_to_trace, 1);
		assert_int_equal(f->n_ftrace_events, 1);
		assert_string_equal(f->ftrace_events[0], "block/block_rq_issue");
	}
	build("block:block_rq_issue block:block_rq_complete block:block_rq_* --filter "
	      "nr_sector~>~8");
	last = config->n_data_sources;
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	assert_int_equal(config->n_data_sources, last);
	/* An event with a filter stays where the filter is, and so does one that is alone. */
	build("block:block_rq_issue block:block_rq_complete --filter nr_sector~>~8");
	last = config->n_data_sources;
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	build("block:block_rq_complete");
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	assert_int_equal(config->n_data_sources, last);
}

static void check_events(const Pb__FtraceConfig *f, const char *expected)
{
	struct strbuf names = {0};

	for (size_t i = 0; i < f->n_ftrace_events; i++)
		strbuf_printf(&names, "%s%s", i ? " " : "", strchr(f->ftrace_events[i], '_') + 1);
	assert_string_equal(names.s, expected);
	strbuf_deinit(&names);
}

TEST(requests_that_others_issue_are_recorded_with_their_ends)
{
	static const uint32_t tids[] = {7};

	build("block:block_rq_insert block:block_rq_issue block:block_rq_requeue "
	      "block:block_rq_complete");
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	check_events(config_find_ftrace(config)->ftrace_config, "rq_insert");
	check_events(ftrace_at(config->n_data_sources - 1), "rq_issue rq_requeue rq_complete");
	/* Without their ends, or with a filter of these, they stay. */
	build("block:block_rq_insert block:block_rq_issue block:block_io_done");
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	check_events(config_find_ftrace(config)->ftrace_config, "rq_insert rq_issue");
	build("block:block_rq_insert block:block_rq_issue block:block_rq_complete --filter "
	      "nr_sector~>~8");
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	check_events(config_find_ftrace(config)->ftrace_config, "rq_insert rq_issue rq_complete");
}

/* ---- presets ---- */

static void check_sources(const char *line, const char *expected)
{
	struct strbuf names = {0};

	build(line);
	assert_int_equal(idle.n, 0);
	strbuf_puts(&names, "");
	for (size_t i = 0; i < config->n_data_sources; i++)
		strbuf_printf(&names, "%s%s", i ? " " : "", config->data_sources[i]->config->name);
	assert_string_equal(names.s, expected);
	strbuf_deinit(&names);
}

TEST(presets_bring_data_sources)
{
	char *text;

	check_sources("sched mem-counters net-counters",
		      "linux.ftrace linux.sys_stats linux.network_stats linux.process_stats "
		      "linux.system_info");
	/* Without events of the kernel there is no linux.ftrace. */
	check_sources("-P journal,cgroups",
		      "linux.systemd_journald linux.cgroup_stats linux.process_stats "
		      "linux.system_info");
	check_sources("processes", "linux.process_stats linux.system_info");
	/* A ring buffer has another one for names, which polled values would fill. */
	check_sources("processes -b 1mb",
		      "linux.process_stats linux.process_stats linux.system_info");

	build("runq stat vmstat faults");
	text = text_of(&config->base);
	assert_non_null(strstr(text, "families: RUNQ\n      families: FAULTS\n"));
	assert_non_null(strstr(text, "vmstat_period_ms: 1000\n      stat_period_ms: 1000\n"));
	free(text);
}

TEST(call_stacks_have_their_frequency_and_processes)
{
	char *text;

	build("--cpu-stacks sched");
	text = text_of(&config->base);
	assert_non_null(strstr(text, "frequency: 99\n"));
	assert_non_null(strstr(text, "user_frames: UNWIND_DWARF\n"));
	free(text);
	build("--cpu-stacks=1000");
	text = text_of(&config->base);
	assert_non_null(strstr(text, "frequency: 1000\n"));
	free(text);
	check_sources("--cpu-stacks", "linux.process_stats linux.system_info linux.perf");
	check_sources("stacks", "linux.perf linux.process_stats linux.system_info");
}

static void check_sampled_cpus(const char *line)
{
	const Pb__PerfEventConfig *perf;

	build(line);
	perf = config_source_perf(config);
	assert_int_equal(perf->n_target_cpu, 2);
	assert_int_equal(perf->target_cpu[0], 0);
	assert_int_equal(perf->target_cpu[1], 33);
}

TEST(call_stacks_are_of_the_chosen_cpus)
{
	check_sampled_cpus("-C 0,33 stacks");
	check_sampled_cpus("-C 0,33 stacks runq irq");
	check_sampled_cpus("-C 33,0 --cpu-stacks");
	assert_int_equal(config_of(NULL, "stacks -B 1mb -C 0"), -EINVAL);
	assert_string_equal(why.text, "-B applies only to kernel events, and none are recorded");
}

TEST(a_preset_is_taken_back)
{
	check_sources("runq stat !runq", "linux.sys_stats linux.process_stats linux.system_info");
	check_sources("runq !runq runq",
		      "linux.ebpf_counters linux.process_stats linux.system_info");
	check_ftrace("sched_switch irq-events io-events !io-events",
		     "ftrace_events: 'sched/sched_switch' ftrace_events: 'irq/*'");
}

/* ---- on top of a config ---- */

static int add_to(const char *base, const char *line)
{
	char with_file[512];

	snprintf(with_file, sizeof(with_file), "-c file %s", line);
	return config_of(base, with_file);
}

static void check_added(const char *base, const char *line, const char *expected)
{
	if (add_to(base, line))
		fail_msg("refused: %s", why.text);
	assert_proto(&config->base, expected);
}

#define BASE                                                                                       \
	"buffers { size_kb: 64 } buffers { size_kb: 128 fill_policy: DISCARD name: 'e' } "         \
	"duration_ms: 9 unique_session_name: 'x' "
#define NAMES(buffer)                                                                              \
	"data_sources { config { name: 'linux.process_stats' " buffer                              \
	" process_stats_config { scan_all_processes_on_start: true record_thread_names: true } } " \
	"} data_sources { config { name: 'linux.system_info' " buffer " } }"
#define EVENTS(config)                                                                             \
	"data_sources { config { name: 'linux.ftrace' target_buffer_name: 'e' ftrace_config "      \
	"{ " config " } } } "

TEST(nothing_is_added_to_a_config_alone)
{
	check_added("data_sources { } duration_ms: 5 buffers { size_kb: 4 }", "-o x",
		    "buffers { size_kb: 4 } data_sources { } duration_ms: 5");
}

TEST(options_override_a_config)
{
	check_added(BASE EVENTS("buffer_size_kb: 1"), "-t 7 -b 1mb -B 2mb",
		    "buffers { size_kb: 64 } "
		    "buffers { size_kb: 1024 fill_policy: DISCARD name: 'e' } duration_ms: 7000 "
		    "unique_session_name: 'x' " EVENTS("buffer_size_kb: 2048"));
	check_added("write_into_file: true buffers { size_kb: 4 }", "--max-size 1mb",
		    "write_into_file: true buffers { size_kb: 4 } max_file_size_bytes: 1048576");
}

TEST(words_are_added_to_a_config)
{
	check_added(BASE EVENTS("ftrace_events: 'sched_switch' symbolize_ksyms: true"),
		    "irq-events vmstat",
		    BASE EVENTS("ftrace_events: 'sched/sched_switch' ftrace_events: 'irq/*' "
				"symbolize_ksyms: true") "data_sources { config { name: "
							 "'linux.sys_stats' target_buffer: 1 "
							 "sys_stats_config { vmstat_period_ms: "
							 "1000 } } } " NAMES("target_buffer: 1"));
	/* Words exclude events of the config. */
	check_added(BASE EVENTS("ftrace_events: 'sched/*' ftrace_events: 'irq/*'") NAMES(""),
		    "!sched_* -- ls", BASE EVENTS("ftrace_events: 'irq/*'") NAMES(""));
	/* What the config says of process names stays. */
	check_added(
		"buffers { size_kb: 4 } data_sources { config { name: 'linux.process_stats' } }",
		"idle-events",
		"buffers { size_kb: 4 } data_sources { config { name: 'linux.process_stats' } } "
		"data_sources { config { name: 'linux.ftrace' ftrace_config { "
		"ftrace_events: 'power/cpu_idle' } } } "
		"data_sources { config { name: 'linux.system_info' } }");
}

TEST(what_does_not_fit_a_config_is_refused)
{
	assert_int_equal(add_to(BASE, "-B 1mb"), -EINVAL);
	assert_non_null(strstr(why.text, "-B applies only to kernel events"));
	assert_int_equal(add_to(BASE, "--max-size 1mb"), -EINVAL);
	assert_non_null(strstr(why.text, "--max-size needs write_into_file in the config"));
	assert_int_equal(add_to(BASE EVENTS("ftrace_events: 'irq/*'"), "!irq"), -EINVAL);
	assert_non_null(strstr(why.text, "name at least one other event"));
}

#define TWO(cpus, more)                                                                            \
	"buffers { size_kb: 4 } " EVENTS("ftrace_events: 'irq/*' " more cpus)                      \
		EVENTS("ftrace_events: 'block/block_rq_insert' " more cpus)
#define ENDS(cpus)                                                                                 \
	EVENTS("ftrace_events: 'block/block_rq_complete' use_monotonic_raw_clock: true " cpus)
#define THREAD "tids_to_trace: 7 follow_children: true "
#define CPUS "tracing_cpumask: '5' "

TEST(threads_and_cpus_are_those_of_all_linux_ftrace)
{
	static const uint32_t tids[] = {7};
	static const char *const base = "buffers { size_kb: 4 } " EVENTS("ftrace_events: 'irq/*'")
		EVENTS("ftrace_events: 'block/block_rq_insert' "
		       "ftrace_events: 'block/block_rq_complete'");

	/* The CPUs are chosen first. Set again, the source of the ends is still of all threads. */
	assert_int_equal(add_to(base, "-C 0,2 --clock mono_raw"), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(record_threads_restrict(config, tids, 1), 0);
		assert_proto(&config->base,
			     TWO(CPUS, "use_monotonic_raw_clock: true " THREAD) ENDS(CPUS));
	}
	/* A source of ends only, beside one of other events, is like one that is added. */
	check_added(TWO("", "") ENDS(""), "-C 0,2", TWO(CPUS, "") ENDS(CPUS));
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	assert_proto(&config->base, TWO(CPUS, THREAD) ENDS(CPUS));
	/* Alone it is restricted. */
	check_added(ENDS(""), "-t 9ms",
		    "duration_ms: 9 buffers { size_kb: 32768 fill_policy: RING_BUFFER } " ENDS(""));
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	assert_int_equal(ftrace_at(0)->n_tids_to_trace, 1);
	/* An instance of the user has one source. */
	assert_int_equal(add_to(EVENTS("instance_name: 'x' ftrace_events: 'block/block_rq_insert' "
				       "ftrace_events: 'block/block_rq_complete'"),
				"-C 0,2"),
			 0);
	assert_int_equal(record_threads_restrict(config, tids, 1), 0);
	assert_int_equal(config->n_data_sources, 1);
	assert_int_equal(ftrace_at(0)->n_tids_to_trace, 1);
}

/* The config of linux.ebpf_counters. */
static void check_histograms(const char *line, const char *expected)
{
	build(line);
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (config->data_sources[i]->config->ebpf_counters_config)
			assert_proto(&config->data_sources[i]->config->ebpf_counters_config->base,
				     expected);
	assert_true(config_requests_source(config, "linux.ebpf_counters"));
}

TEST(histograms)
{
	check_histograms("--hist block_rq_complete:~nr_sector",
			 "histograms { event: 'block_rq_complete' field: 'nr_sector' }");
	assert_false(config_requests_source(config, "linux.cgroup_members"));
	assert_true(config_requests_source(config, "linux.process_stats"));
	check_histograms(
		"--hist block:block_rq_complete:nr_sector~~by~comm~ --hist "
		"sched/sched_switch~:~prev_prio~log2",
		"histograms { event: 'block/block_rq_complete' field: 'nr_sector' key: 'comm' } "
		"histograms { event: 'sched/sched_switch' field: 'prev_prio' }");
	check_histograms("--hist sched_switch:~prev_prio~linear~-10..140~step~50~by~cgroup",
			 "histograms { event: 'sched_switch' field: 'prev_prio' key: 'cgroup' "
			 "linear { min: -10 step: 50 steps: 3 } }");
	assert_true(config_requests_source(config, "linux.cgroup_members"));
	check_histograms(
		"--hist block:block_rq_issue~..~block_rq_complete:~time~on~dev,sector",
		"histograms { event: 'block/block_rq_issue' end_event: 'block_rq_complete' "
		"match: 'dev' match: 'sector' }");
}

/* An empty list of families is that of the default families. */
TEST(a_histogram_beside_families_is_a_source_of_its_own)
{
	unsigned n = 0;

	build("ebpf --hist sched_switch:~prev_prio");
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__EbpfCountersConfig *c =
			config->data_sources[i]->config->ebpf_counters_config;

		n += c != NULL;
		assert_true(!c || !c->n_histograms == !!c->n_families);
	}
	assert_int_equal(n, 2);
}

TEST(histograms_that_are_refused)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"sched_switch", "expected EVENT: FIELD"},
		{"sched_switch:", "a field is needed"},
		{":~prev_prio", "one event is needed"},
		{"sched*:~prev_prio", "one event is needed"},
		{"sched_switch~x:~prev_prio", "one event is needed"},
		{"sched_swich:~prev_prio",
		 "no event is named 'sched_swich'; did you mean sched/sched_switch"},
		{"sched_switch..:~time", "one event is needed"},
		{"sched_switch..sched_waking:~prev_prio", "only 'time' can be counted"},
		{"sched_switch:~prev_prio~on~pid", "'on' applies only to times"},
		{"sched_switch:~prev_prio~by", "a word is missing"},
		{"sched_switch:~prev_prio~by~pid~by~comm", "only one key can be given"},
		{"sched_switch:~prev_prio~for~pid", "after the field"},
		{"sched_switch:~prev_prio~linear~0..10", "as in 'linear 0..256 step 8"},
		{"sched_switch:~prev_prio~linear~0..10~step~0", "as in 'linear 0..256 step 8"},
		{"sched_switch:~prev_prio~linear~10..0~step~1", "as in 'linear 0..256 step 8"},
		{"sched_switch:~prev_prio~linear~0..10~steps~1", "as in 'linear 0..256 step 8"},
		{"sched_switch:~prev_prio~linear~0..x~step~1", "as in 'linear 0..256 step 8"},
		{"sched_switch:~prev_prio~linear~0..10~step~3", "must be a multiple"},
		{"sched_switch:~prev_prio~linear~0..255~step~1",
		 "too many steps; the limit is 254"},
		{"sched_switch:~prev_prio~linear~0..9~step~1~linear~0..9~step~1", "given twice"},
		{"sched_switch:~prev_prio~linear~-9223372036854775808..9223372036854775807~step~1",
		 "too many steps; the limit is 254"},
	};
	char line[256];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(line, sizeof(line), "--hist %s", rows[i].text);
		assert_int_equal(config_of(NULL, line), -EINVAL);
		if (!strstr(why.text, rows[i].why))
			fail_msg("%s: '%s' is not in '%s'", rows[i].text, rows[i].why, why.text);
	}
}

TEST(packed_and_unpacked_it_is_the_same)
{
	Pb__TraceConfig *copy;
	char *text, *again;
	uint8_t *bytes;
	size_t len;

	build("* --filter x~==~1 -C 0");
	assert_int_equal(record_config_pack(config, &bytes, &len), 0);
	copy = pb__trace_config__unpack(NULL, len, bytes);
	text = text_of(&config->base);
	again = text_of(&copy->base);
	assert_string_equal(text, again);
	free(text);
	free(again);
	free(bytes);
	pb__trace_config__free_unpacked(copy, NULL);
}

TEST_GROUP(setup, teardown)
