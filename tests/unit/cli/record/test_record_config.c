// SPDX-License-Identifier: Apache-2.0
/*
 * From a command line to the config, which is compared as text, the way a person would write it;
 * whole once, and then only what ftrace_config says.
 */

#include "unit/test.h"
#include "cli/record/record_config.h"
#include "cli/record/record_threads.h"
#include "cli/report/config_sources.h"
#include "config/source_merge.h"
#include "config/text.h"
#include "config/trace_config.h"
#include "unit/cli/kernel_events.h"
#include "unit/proto_text.h"

static struct fake_tracefs tracefs;
static struct tracefs_events events;
static struct presets *presets; /* those of the program */
static struct err_text why;
/* What config_of has made last, and the words that it had no use for. */
static Pb__TraceConfig *config;
static struct event_requests idle;

static int setup(void **state)
{
	static const char *const no_folders[] = {NULL};

	presets = presets_new(no_folders);
	fake_tracefs_make(&tracefs);
	return tracefs_events_load(tracefs.root, &events);
}

static int teardown(void **state)
{
	pb__trace_config__free_unpacked(config, NULL);
	event_requests_deinit(&idle);
	tracefs_events_deinit(&events);
	fake_tracefs_remove(&tracefs);
	presets_free(presets);
	return 0;
}

static char *text_of(const ProtobufCMessage *message)
{
	struct strbuf b = {0};

	text_print(message, &b);
	return strbuf_take(&b);
}

/* argv ends with NULL and begins with the first argument. */
static int config_of(const char *const *argv)
{
	char *copy[32] = {(char *)"record"};
	struct record_options o;
	int argc = 1, r;

	for (; *argv; argv++)
		copy[argc++] = (char *)*argv;
	copy[argc] = NULL;
	if (record_options_parse(argc, copy, &o, &why))
		fail_msg("refused: %s", why.text);
	event_requests_deinit(&idle);
	pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	r = record_config_build(&o, &events, presets, &why, &idle, &config);
	if (r)
		pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	record_options_deinit(&o);
	return r;
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void build(const char *const *argv)
{
	if (config_of(argv))
		fail_msg("refused: %s", why.text);
}

static void check_ftrace(const char *const *argv, const char *expected)
{
	build(argv);
	assert_int_equal(idle.n, 0);
	assert_proto(&config->data_sources[0]->config->ftrace_config->base, expected);
}

TEST(test_the_config_of_a_word)
{
	char *text;

	build(ARGS("-b", "32mb", "sched"));
	text = text_of(&config->base);
	assert_string_equal(text, "buffers {\n"
				  "  size_kb: 32768\n"
				  "  fill_policy: RING_BUFFER\n"
				  "}\n"
				  "buffers {\n"
				  "  size_kb: 4096\n"
				  "  fill_policy: RING_BUFFER\n"
				  "  name: \"names\"\n"
				  "}\n"
				  "data_sources {\n"
				  "  config {\n"
				  "    name: \"linux.ftrace\"\n"
				  "    ftrace_config {\n"
				  "      ftrace_events: \"sched/sched_switch\"\n"
				  "      ftrace_events: \"sched/sched_waking\"\n"
				  "      ftrace_events: \"sched/sched_wakeup_new\"\n"
				  "      ftrace_events: \"sched/sched_process_exec\"\n"
				  "      ftrace_events: \"sched/sched_process_exit\"\n"
				  "      ftrace_events: \"sched/sched_process_fork\"\n"
				  "      ftrace_events: \"sched/sched_process_free\"\n"
				  "      ftrace_events: \"task/task_newtask\"\n"
				  "      ftrace_events: \"task/task_rename\"\n"
				  "    }\n"
				  "  }\n"
				  "}\n"
				  "data_sources {\n"
				  "  config {\n"
				  "    name: \"linux.process_stats\"\n"
				  "    target_buffer: 1\n"
				  "    process_stats_config {\n"
				  "      scan_all_processes_on_start: true\n"
				  "      record_thread_names: true\n"
				  "    }\n"
				  "  }\n"
				  "}\n"
				  "data_sources {\n"
				  "  config {\n"
				  "    name: \"linux.system_info\"\n"
				  "    target_buffer: 1\n"
				  "  }\n"
				  "}\n"
				  "flush_period_ms: 30000\n"
				  "incremental_state_config {\n"
				  "  clear_period_ms: 30000\n"
				  "}\n");
	free(text);
}

/* It is overwritten nowhere, so nothing is kept elsewhere or said again. */
TEST(test_what_streams_into_a_file_has_one_buffer)
{
	build(ARGS("sched"));
	assert_int_equal(config->n_buffers, 1);
	assert_int_equal(config->buffers[0]->size_kb, 32768);
	for (size_t i = 0; i < config->n_data_sources; i++)
		assert_int_equal(config->data_sources[i]->config->target_buffer, 0);
	assert_null(config->incremental_state_config);
	record_config_stream(config, 1000);
	assert_true(config->write_into_file);
	assert_int_equal(config->file_write_period_ms, 250);
	assert_int_equal(config->max_file_size_bytes, 1000);
}

TEST(test_how_long_and_how_much)
{
	build(ARGS("-t", "1500ms", "-b", "64kb", "irq/*"));
	assert_int_equal(config->buffers[0]->size_kb, 64);
	assert_true(config->has_duration_ms);
	assert_int_equal(config->duration_ms, 1500);
	check_ftrace(ARGS("irq/*", "-B", "8mb", "--subbuf", "64k", "--clock", "mono_raw", "-C",
			  "0,2-5,33"),
		     "ftrace_events: 'irq/*' buffer_size_kb: 8192 use_monotonic_raw_clock: true "
		     "tracing_cpumask: '2,0000003d' subbuf_size_kb: 64");
	check_ftrace(ARGS("irq/*", "--clock", "boot"), "ftrace_events: 'irq/*'");
}

TEST(test_the_daemons_keep_their_priority_where_that_is_asked_for)
{
	build(ARGS("sched"));
	assert_null(config->priority_boost);
	assert_null(config->data_sources[0]->config->priority_boost);
	build(ARGS("--no-priority", "sched"));
	assert_int_equal(config->priority_boost->policy,
			 PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_OTHER);
	assert_int_equal(config->priority_boost->priority, 0);
	assert_non_null(config->data_sources[0]->config->priority_boost);
}

TEST(test_filters_are_about_the_word_before_them)
{
	check_ftrace(ARGS("block_rq_issue", "-e", "sched:*", "--filter",
			  "prev_prio < 100 || x == 1", "--filter", "next_pid != 0", "-e",
			  "!*waking", "irq/*"),
		     "ftrace_events: 'block/block_rq_issue' ftrace_events: 'sched/sched_switch' "
		     "ftrace_events: 'sched/sched_wakeup' ftrace_events: 'irq/*' "
		     "event_filters { event: 'sched/*' filter: 'prev_prio < 100 || x == 1' } "
		     "event_filters { event: 'sched/*' filter: 'next_pid != 0' }");
	check_ftrace(ARGS("sched_waking,softirq*,msr:write_msr", "--filter", "x", "!msr:*"),
		     "ftrace_events: 'sched/sched_waking' ftrace_events: 'irq/softirq_entry' "
		     "ftrace_events: 'irq/softirq_exit' "
		     "event_filters { event: 'sched_waking' filter: 'x' } "
		     "event_filters { event: 'softirq*' filter: 'x' }");
	check_ftrace(ARGS("--event", "softirq_entry", "--filter=vec == 1", "*irq*", "--filter",
			  "vec == 2"),
		     "ftrace_events: 'irq/*' "
		     "event_filters { event: 'softirq_entry' filter: 'vec == 1' } "
		     "event_filters { event: '*irq*' filter: 'vec == 2' }");
}

TEST(test_triggers_too)
{
	check_ftrace(ARGS("sched:sched_switch", "--trigger", "stacktrace", "block/block_rq_issue",
			  "--trigger", "traceoff:3 if nr_sector > 8", "--trigger", "traceon"),
		     "ftrace_events: 'sched/sched_switch' ftrace_events: 'block/block_rq_issue' "
		     "symbolize_ksyms: true "
		     "event_triggers { event: 'sched/sched_switch' action: ACTION_STACKTRACE } "
		     "event_triggers { event: 'block/block_rq_issue' action: ACTION_TRACEOFF "
		     "filter: 'nr_sector > 8' count: 3 } "
		     "event_triggers { event: 'block/block_rq_issue' action: ACTION_TRACEON }");
	/* A word that stands for several events: those of them that are left. */
	check_ftrace(ARGS("sched", "--trigger", "traceoff", "!sched:*"),
		     "ftrace_events: 'task/task_newtask' ftrace_events: 'task/task_rename' "
		     "event_triggers { event: 'task/task_newtask' action: ACTION_TRACEOFF } "
		     "event_triggers { event: 'task/task_rename' action: ACTION_TRACEOFF }");
}

TEST(test_what_makes_events_of_its_own)
{
	check_ftrace(ARGS("--syscalls", "read,sys_write", "--syscalls", "openat"),
		     "syscall_events: 'sys_read' syscall_events: 'sys_write' "
		     "syscall_events: 'sys_openat'");
	check_ftrace(ARGS("--syscalls", "compat_sys_openat"),
		     "syscall_events: 'compat_sys_openat'");
	check_ftrace(ARGS("--kprobe", "vfs_read", "--kretprobe", "vfs_write", "--kretprobe",
			  "vfs_read", "--kprobe", "p:mine do_sys_open flags=%dx", "--kprobe",
			  "r8:back vfs_open $retval", "--kprobe", "p vfs_open"),
		     "kprobe_events { probe: 'vfs_read' type: KPROBE_TYPE_BOTH } "
		     "kprobe_events { probe: 'vfs_write' type: KPROBE_TYPE_KRETPROBE } "
		     "kprobe_events { definition: 'p:mine do_sys_open flags=%dx' } "
		     "kprobe_events { definition: 'r8:back vfs_open $retval' } "
		     "kprobe_events { definition: 'p vfs_open' }");
	/* Functions that begin like a line. */
	check_ftrace(ARGS("--kprobe", "printk", "--kprobe", "r", "--kprobe", "p10"),
		     "kprobe_events { probe: 'printk' type: KPROBE_TYPE_KPROBE } "
		     "kprobe_events { probe: 'r' type: KPROBE_TYPE_KPROBE } "
		     "kprobe_events { probe: 'p10' type: KPROBE_TYPE_KPROBE }");
	check_ftrace(ARGS("--uprobe", "p:mine /bin/bash:0x4a2f0 %ip", "--uprobe", "r /bin/sh:0x10"),
		     "uprobe_events: 'p:mine /bin/bash:0x4a2f0 %ip' "
		     "uprobe_events: 'r /bin/sh:0x10'");
	check_ftrace(ARGS("--ksyms", "msr:*"),
		     "ftrace_events: 'msr/write_msr' symbolize_ksyms: true");
}

TEST(test_graphs_of_functions)
{
	check_ftrace(ARGS("--function-graph"), "symbolize_ksyms: true enable_function_graph: true");
	check_ftrace(ARGS("--function-graph=vfs_read", "--function-graph=vfs_write",
			  "--function-filter", "vfs_*", "--function-depth", "3"),
		     "symbolize_ksyms: true enable_function_graph: true function_filters: 'vfs_*' "
		     "function_graph_roots: 'vfs_read' function_graph_roots: 'vfs_write' "
		     "function_graph_max_depth: 3");
}

TEST(test_threads_may_be_set_again)
{
	static const uint32_t first[] = {7, 8, 9}, second[] = {7};

	build(ARGS("irq/*"));
	assert_int_equal(record_threads_set(config, first, 3), 0);
	assert_int_equal(record_threads_set(config, second, 1), 0);
	assert_proto(&config->data_sources[0]->config->ftrace_config->base,
		     "ftrace_events: 'irq/*' tids_to_trace: 7 follow_children: true");
}

TEST(test_threads_of_a_process)
{
	uint32_t me = (uint32_t)getpid(), nobody = 1u << 30;
	struct pid_list pids = {.pids = &me, .n = 1};
	Pb__FtraceConfig *f;
	bool found = false;

	build(ARGS("irq/*"));
	f = config->data_sources[0]->config->ftrace_config;
	assert_int_equal(record_threads_set_pids(config, &pids, &why), 0);
	for (size_t i = 0; i < f->n_tids_to_trace; i++)
		found |= f->tids_to_trace[i] == me;
	assert_true(found);
	assert_true(f->follow_children);
	assert_int_equal(f->n_pids_to_trace, 1);
	assert_int_equal(f->pids_to_trace[0], me);
	pids.pids = &nobody;
	assert_int_equal(record_threads_set_pids(config, &pids, &why), -ESRCH);
	assert_string_equal(why.text, "-p: there is no process 1073741824");
}

TEST(test_idle_words_are_given_back)
{
	build(ARGS("irq/*", "!nosuch"));
	assert_int_equal(idle.n, 1);
	assert_string_equal(idle.names[0], "!nosuch");
}

TEST(test_refused)
{
	static const struct {
		const char *args[4];
		const char *sentence;
	} cases[] = {
		{{"a/b/c"}, "'a/b/c' is not a valid event name"},
		{{"irq/*", "!*"},
		 "no event is left: '!*' excludes what is named before it; name more events before "
		 "it"},
		{{"--syscalls", "read,,write"}, "--syscalls: a name is empty"},
		{{"--syscalls", ""}, "--syscalls: a name is empty"},
		{{"--kretprobe", "r:x vfs_read"},
		 "--kretprobe takes the name of a function; pass 'r:x vfs_read' with --kprobe"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(config_of(cases[i].args), -EINVAL);
		assert_string_equal(why.text, cases[i].sentence);
	}
}

TEST(test_events_of_programs)
{
	build(ARGS("--app", "net*,disk", "--app", "x", "sched"));
	assert_string_equal(config->data_sources[0]->config->name, "linux.ftrace");
	assert_proto(&config->data_sources[3]->config->track_event_config->base,
		     "disabled_categories: '*' enabled_categories: 'net*' "
		     "enabled_categories: 'disk' enabled_categories: 'x'");
}

TEST(test_events_of_programs_alone_need_no_kernel)
{
	static const uint32_t tids[] = {7};

	build(ARGS("--app", "*"));
	for (size_t i = 0; i < config->n_data_sources; i++)
		assert_null(config->data_sources[i]->config->ftrace_config);
	assert_int_equal(record_threads_set(config, tids, 1), 0);
}

static const Pb__FtraceConfig *ftrace_at(size_t i)
{
	assert_in_range(i, 0, config->n_data_sources - 1);
	assert_string_equal(config->data_sources[i]->config->name, "linux.ftrace");
	return config->data_sources[i]->config->ftrace_config;
}

TEST(test_ends_of_disk_requests_are_those_of_all_threads)
{
	static const uint32_t tids[] = {7};
	const Pb__FtraceConfig *f;
	size_t last;

	build(ARGS("block:block_rq_issue", "block:block_rq_complete", "block:block_io_done"));
	for (int again = 0; again < 2; again++) {
		assert_int_equal(record_threads_set(config, tids, 1), 0);
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
	build(ARGS("block:block_rq_issue", "block:block_rq_complete", "block:block_rq_*",
		   "--filter", "nr_sector > 8"));
	last = config->n_data_sources;
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	assert_int_equal(config->n_data_sources, last);
	/* An event with a filter stays where the filter is, and so does one that is alone. */
	build(ARGS("block:block_rq_issue", "block:block_rq_complete", "--filter", "nr_sector > 8"));
	last = config->n_data_sources;
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	build(ARGS("block:block_rq_complete"));
	assert_int_equal(record_threads_set(config, tids, 1), 0);
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

TEST(test_requests_that_others_issue_are_recorded_with_their_ends)
{
	static const uint32_t tids[] = {7};

	build(ARGS("block:block_rq_insert", "block:block_rq_issue", "block:block_rq_requeue",
		   "block:block_rq_complete"));
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	check_events(config_find_ftrace(config)->ftrace_config, "rq_insert");
	check_events(ftrace_at(config->n_data_sources - 1), "rq_issue rq_requeue rq_complete");
	/* Without their ends, or with a filter of these, they stay. */
	build(ARGS("block:block_rq_insert", "block:block_rq_issue", "block:block_io_done"));
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	check_events(config_find_ftrace(config)->ftrace_config, "rq_insert rq_issue");
	build(ARGS("block:block_rq_insert", "block:block_rq_issue", "block:block_rq_complete",
		   "--filter", "nr_sector > 8"));
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	check_events(config_find_ftrace(config)->ftrace_config, "rq_insert rq_issue rq_complete");
}

/* ---- presets ---- */

static void check_sources(const char *const *argv, const char *expected)
{
	struct strbuf names = {0};

	build(argv);
	assert_int_equal(idle.n, 0);
	strbuf_puts(&names, "");
	for (size_t i = 0; i < config->n_data_sources; i++)
		strbuf_printf(&names, "%s%s", i ? " " : "", config->data_sources[i]->config->name);
	assert_string_equal(names.s, expected);
	strbuf_deinit(&names);
}

TEST(test_presets_bring_data_sources)
{
	char *text;

	check_sources(ARGS("sched", "meminfo", "network"),
		      "linux.ftrace linux.sys_stats linux.network_stats linux.process_stats "
		      "linux.system_info");
	/* Without events of the kernel there is no linux.ftrace. */
	check_sources(ARGS("-P", "journal,cgroups"),
		      "linux.systemd_journald linux.cgroup_stats linux.process_stats "
		      "linux.system_info");
	check_sources(ARGS("processes"), "linux.process_stats linux.system_info");
	/* A ring buffer has another one for names, which polled values would fill. */
	check_sources(ARGS("processes", "-b", "1mb"),
		      "linux.process_stats linux.process_stats linux.system_info");

	build(ARGS("runq", "meminfo", "vmstat", "faults"));
	text = text_of(&config->base);
	assert_non_null(strstr(text, "families: RUNQ\n      families: FAULTS\n"));
	assert_non_null(strstr(text, "meminfo_period_ms: 1000\n      vmstat_period_ms: 1000\n"));
	free(text);
}

TEST(call_stacks_have_their_frequency_and_processes)
{
	char *text;

	build(ARGS("--cpu-stacks", "sched"));
	text = text_of(&config->base);
	assert_non_null(strstr(text, "frequency: 99\n"));
	assert_non_null(strstr(text, "user_frames: UNWIND_FRAME_POINTER\n"));
	free(text);
	build(ARGS("--cpu-stacks=1000"));
	text = text_of(&config->base);
	assert_non_null(strstr(text, "frequency: 1000\n"));
	free(text);
	check_sources(ARGS("--cpu-stacks"), "linux.process_stats linux.system_info linux.perf");
	check_sources(ARGS("stacks"), "linux.perf linux.process_stats linux.system_info");
}

static void check_sampled_cpus(const char *const *argv)
{
	const Pb__PerfEventConfig *perf;

	build(argv);
	perf = requested_perf(config);
	assert_int_equal(perf->n_target_cpu, 2);
	assert_int_equal(perf->target_cpu[0], 0);
	assert_int_equal(perf->target_cpu[1], 33);
}

TEST(call_stacks_are_of_the_chosen_cpus)
{
	check_sampled_cpus(ARGS("-C", "0,33", "stacks"));
	check_sampled_cpus(ARGS("-C", "0,33", "stacks", "runq", "irq"));
	check_sampled_cpus(ARGS("-C", "33,0", "--cpu-stacks"));
	assert_int_equal(config_of(ARGS("stacks", "-B", "1mb", "-C", "0")), -EINVAL);
	assert_string_equal(why.text, "-B is about events of the kernel, and there are none");
}

TEST(test_a_preset_is_taken_back)
{
	check_sources(ARGS("runq", "meminfo", "!runq"),
		      "linux.sys_stats linux.process_stats linux.system_info");
	check_sources(ARGS("runq", "!runq", "runq"),
		      "linux.ebpf_counters linux.process_stats linux.system_info");
	check_ftrace(ARGS("sched_switch", "irq", "disk", "!disk"),
		     "ftrace_events: 'sched/sched_switch' ftrace_events: 'irq/*'");
}

TEST(test_options_of_rings_need_events)
{
	assert_int_equal(config_of(ARGS("meminfo", "-B", "1mb")), -EINVAL);
	assert_string_equal(why.text, "-B is about events of the kernel, and there are none");
}

/* ---- on top of a config ---- */

/* Adds what the command line says to a config, in `config`. */
static int add_to(const char *base, const char *const *argv)
{
	char *copy[32] = {(char *)"record", (char *)"-c", (char *)"file"};
	struct strbuf errors = {0};
	struct record_options o;
	int argc = 3, r;

	for (; *argv; argv++)
		copy[argc++] = (char *)*argv;
	if (record_options_parse(argc, copy, &o, &why))
		fail_msg("refused: %s", why.text);
	pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	if (trace_config_load("file", base, strlen(base), TRACE_CONFIG_TEXT, &errors, &config))
		fail_msg("%s", errors.s);
	r = record_config_build(&o, &events, presets, &why, &idle, &config);
	record_options_deinit(&o);
	return r;
}

static void check_added(const char *base, const char *const *argv, const char *expected)
{
	if (add_to(base, argv))
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

TEST(test_nothing_is_added_to_a_config_alone)
{
	check_added("data_sources { } duration_ms: 5 buffers { size_kb: 4 }", ARGS("-o", "x"),
		    "buffers { size_kb: 4 } data_sources { } duration_ms: 5");
}

TEST(test_options_override_a_config)
{
	check_added(BASE EVENTS("buffer_size_kb: 1"), ARGS("-t", "7", "-b", "1mb", "-B", "2mb"),
		    "buffers { size_kb: 64 } "
		    "buffers { size_kb: 1024 fill_policy: DISCARD name: 'e' } duration_ms: 7000 "
		    "unique_session_name: 'x' " EVENTS("buffer_size_kb: 2048"));
	check_added("write_into_file: true buffers { size_kb: 4 }", ARGS("--max-size", "1mb"),
		    "write_into_file: true buffers { size_kb: 4 } max_file_size_bytes: 1048576");
}

TEST(test_words_are_added_to_a_config)
{
	check_added(BASE EVENTS("ftrace_events: 'sched_switch' symbolize_ksyms: true"),
		    ARGS("irq", "meminfo"),
		    BASE EVENTS("ftrace_events: 'sched/sched_switch' ftrace_events: 'irq/*' "
				"symbolize_ksyms: true") "data_sources { config { name: "
							 "'linux.sys_stats' target_buffer: 1 "
							 "sys_stats_config { meminfo_period_ms: "
							 "1000 } } } " NAMES("target_buffer: 1"));
	/* Words exclude events of the config. */
	check_added(BASE EVENTS("ftrace_events: 'sched/*' ftrace_events: 'irq/*'") NAMES(""),
		    ARGS("!sched_*", "--", "ls"), BASE EVENTS("ftrace_events: 'irq/*'") NAMES(""));
	/* What the config says of process names stays. */
	check_added(
		"buffers { size_kb: 4 } data_sources { config { name: 'linux.process_stats' } }",
		ARGS("idle"),
		"buffers { size_kb: 4 } data_sources { config { name: 'linux.process_stats' } } "
		"data_sources { config { name: 'linux.ftrace' ftrace_config { "
		"ftrace_events: 'power/cpu_idle' } } } "
		"data_sources { config { name: 'linux.system_info' } }");
}

TEST(test_what_does_not_fit_a_config_is_refused)
{
	assert_int_equal(add_to(BASE, ARGS("-B", "1mb")), -EINVAL);
	assert_non_null(strstr(why.text, "-B is about events of the kernel"));
	assert_int_equal(add_to(BASE, ARGS("--max-size", "1mb")), -EINVAL);
	assert_non_null(strstr(why.text, "--max-size needs write_into_file in the config"));
	assert_int_equal(add_to(BASE EVENTS("ftrace_events: 'irq/*'"), ARGS("!irq")), -EINVAL);
	assert_non_null(strstr(why.text, "no event is left"));
}

#define TWO(cpus, more)                                                                            \
	"buffers { size_kb: 4 } " EVENTS("ftrace_events: 'irq/*' " more cpus)                      \
		EVENTS("ftrace_events: 'block/block_rq_insert' " more cpus)
#define ENDS(cpus)                                                                                 \
	EVENTS("ftrace_events: 'block/block_rq_complete' use_monotonic_raw_clock: true " cpus)
#define THREAD "tids_to_trace: 7 follow_children: true "
#define CPUS "tracing_cpumask: '5' "

TEST(test_threads_and_cpus_are_those_of_all_linux_ftrace)
{
	static const uint32_t tids[] = {7};
	static const char *const base = "buffers { size_kb: 4 } " EVENTS("ftrace_events: 'irq/*'")
		EVENTS("ftrace_events: 'block/block_rq_insert' "
		       "ftrace_events: 'block/block_rq_complete'");

	/* The CPUs are chosen first. Set again, the source of the ends is still of all threads. */
	assert_int_equal(add_to(base, ARGS("-C", "0,2", "--clock", "mono_raw")), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(record_threads_set(config, tids, 1), 0);
		assert_proto(&config->base,
			     TWO(CPUS, "use_monotonic_raw_clock: true " THREAD) ENDS(CPUS));
	}
	/* A source of ends only, beside one of other events, is like one that is added. */
	check_added(TWO("", "") ENDS(""), ARGS("-C", "0,2"), TWO(CPUS, "") ENDS(CPUS));
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	assert_proto(&config->base, TWO(CPUS, THREAD) ENDS(CPUS));
	/* Alone it is restricted. */
	check_added(ENDS(""), ARGS("-t", "9ms"),
		    "duration_ms: 9 buffers { size_kb: 32768 fill_policy: RING_BUFFER } " ENDS(""));
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	assert_int_equal(ftrace_at(0)->n_tids_to_trace, 1);
	/* An instance of the user has one source. */
	assert_int_equal(add_to(EVENTS("instance_name: 'x' ftrace_events: 'block/block_rq_insert' "
				       "ftrace_events: 'block/block_rq_complete'"),
				ARGS("-C", "0,2")),
			 0);
	assert_int_equal(record_threads_set(config, tids, 1), 0);
	assert_int_equal(config->n_data_sources, 1);
	assert_int_equal(ftrace_at(0)->n_tids_to_trace, 1);
}

TEST(test_packed_and_unpacked_it_is_the_same)
{
	Pb__TraceConfig *copy;
	char *text, *again;
	uint8_t *bytes;
	size_t len;

	build(ARGS("*", "--filter", "x == 1", "-C", "0"));
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
