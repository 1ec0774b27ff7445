/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/snapshot_report.h"
#include "unit/cli/facts.h"
#include "unit/cli/kernel_events.h"
#include "unit/fixture.h"

static struct facts x;

SETUP
{
	facts_init(&x, FACTS_FTRACE);
}

TEARDOWN
{
	facts_deinit(&x);
}

#define TWO_EVENTS                                                                                 \
	"Recorded 5.00 s on 2 CPUs: 2 events, 1.18 MiB to x.pftrace\n  events   sched 2\n"

static void check(const char *expected, bool lost, bool missing)
{
	struct record_verdict verdict;
	struct strbuf out = {0};

	record_summary_write(&x.f, &out, &verdict);
	assert_string_equal(out.s, expected);
	assert_int_equal(verdict.lost, lost);
	assert_int_equal(verdict.missing, missing);
	strbuf_deinit(&out);
}

FIXTURE_TEST(test_a_good_recording)
{
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 47900);
	event_counts_add(&x.scan.ftrace.counts, 235, 311);
	x.scan.processes = 1143;
	x.scan.started_ns = 7000000000;
	x.scan.disabled_ns = 12000000000;
	check("Recorded 5.00 s on 2 CPUs: 48,211 events, 1,143 processes, 1.18 MiB to x.pftrace\n"
	      "  events   sched 47,900, task 311\n"
	      "  lost     nothing\n",
	      false, false);
}

/* Tracing from 7 to 12.6 s; all data sources had started at 7.5 s. */
static void of_known_times(const char *duration)
{
	char config[200];

	snprintf(config, sizeof(config),
		 "data_sources { config { name: 'linux.ftrace' ftrace_config {} } } %s", duration);
	facts_deinit(&x);
	facts_init(&x, config);
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 2);
	x.scan.started_ns = 7000000000;
	x.scan.all_started_ns = 7500000000;
	x.scan.disabled_ns = 12600000000;
}

static void check_head(const char *expected)
{
	struct record_verdict verdict;
	struct strbuf out = {0};

	record_summary_write(&x.f, &out, &verdict);
	*strchr(out.s, ':') = '\0';
	assert_string_equal(out.s, expected);
	strbuf_deinit(&out);
}

FIXTURE_TEST(test_the_head_has_the_durations)
{
	static const struct {
		const char *what, *config;
		uint64_t all_started_ms, first_us, last_us; /* 0: not known */
		bool goes_on;
		const char *head;
	} rows[] = {
		{"from when all had started", "", 7500, 0, 0, false, "Recorded 5.10 s on 2 CPUs"},
		{"of old services", "", 0, 0, 0, false, "Recorded 5.60 s on 2 CPUs"},
		{"a source is too late", "", 12700, 0, 0, false, "Recorded 5.60 s on 2 CPUs"},
		{"as long as asked for", "duration_ms: 5010", 7500, 0, 0, false,
		 "Recorded 5.10 s on 2 CPUs"},
		{"longer", "duration_ms: 5000", 7500, 0, 0, false,
		 "Recorded 5.10 s (asked for 5 s) on 2 CPUs"},
		{"shorter", "duration_ms: 3600000", 7500, 0, 0, false,
		 "Recorded 5.10 s (asked for 3600 s) on 2 CPUs"},
		{"a snapshot", "duration_ms: 3600000", 7500, 0, 0, true,
		 "Snapshot after 5.10 s on 2 CPUs"},
		{"a trigger ends it", "duration_ms: 1500 trigger_config { trigger_timeout_ms: 9 }",
		 7500, 0, 0, false, "Recorded 5.10 s on 2 CPUs"},
		{"events of as long", "duration_ms: 5000", 7500, 7600000, 12610000, false,
		 "Recorded 5.10 s (asked for 5 s) on 2 CPUs"},
		{"events of longer", "duration_ms: 5000", 7500, 7600000, 13760000, false,
		 "Recorded 5.10 s (asked for 5 s; events cover 6.16 s) on 2 CPUs"},
		{"events of shorter", "", 7500, 7600000, 7602400, false,
		 "Recorded 5.10 s (events cover 0.002 s) on 2 CPUs"},
		{"one event", "", 7500, 7600000, 7600000, false, "Recorded 5.10 s on 2 CPUs"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("# %s\n", rows[i].what);
		of_known_times(rows[i].config);
		x.scan.all_started_ns = rows[i].all_started_ms * 1000000;
		x.scan.ftrace.first_ns = rows[i].first_us * 1000;
		x.scan.ftrace.last_ns = rows[i].last_us * 1000;
		x.f.goes_on = rows[i].goes_on;
		check_head(rows[i].head);
	}
}

FIXTURE_TEST(test_recorded_by_our_clock_is_without_the_start_of_the_data_sources)
{
	x.f.elapsed_ms = 5104;
	x.f.set_up_ms = 500;
	check_head("Recorded 5.10 s on 2 CPUs");
	assert_true(record_tracing_seconds(&x.f) > 5.6);
}

FIXTURE_TEST(test_json_has_each_duration)
{
	static const char expected[] =
		"{\"duration_s\":5.100000,\"asked_s\":5.000000,\"set_up_s\":0.500000,";
	struct record_verdict verdict;
	struct strbuf out = {0};

	of_known_times("duration_ms: 5000");
	x.scan.ftrace.first_ns = 7600000000;
	x.scan.ftrace.last_ns = 13760000000;
	record_summary_write_json(&x.f, &out, &verdict);
	assert_true(str_starts(out.s, expected));
	assert_non_null(strstr(out.s, "\"events\":2,\"events_s\":6.160000,"));
	strbuf_deinit(&out);
}

static void check_note(const char *ftrace, bool expected)
{
	char text[500];
	struct record_verdict verdict;
	struct strbuf out = {0};

	snprintf(text, sizeof(text),
		 "data_sources { config { name: 'linux.ftrace' ftrace_config { %s } } }", ftrace);
	facts_deinit(&x);
	facts_init(&x, text);
	record_summary_write(&x.f, &out, &verdict);
	assert_int_equal(!!strstr(out.s, "note     interrupts, received packets, work queues and "
					 "idle CPUs do not belong to "
					 "the recorded threads: "),
			 expected);
	strbuf_deinit(&out);
}

FIXTURE_TEST(test_events_that_are_not_of_the_recorded_threads)
{
	check_note("ftrace_events: 'irq/*' tids_to_trace: 1", true);
	check_note("ftrace_events: 'sched/sched_switch' ftrace_events: 'power/cpu_idle' "
		   "pids_to_trace: 1",
		   true);
	check_note("ftrace_events: '*/*' tids_to_trace: 1", true);
	check_note("ftrace_events: 'irq/*'", false);
	check_note("ftrace_events: 'sched/*' ftrace_events: 'block/block_rq_insert' "
		   "tids_to_trace: 1",
		   false);
}

FIXTURE_TEST(test_files_that_could_not_be_read)
{
	static const char file[] = "/proc/PID/io: Permission denied";
	static const char family[] = "runq: the kernel has no BTF";

	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 47900);
	name_list_add(&x.scan.sources.unread, (const uint8_t *)file, strlen(file));
	name_list_add(&x.scan.sources.uncounted, (const uint8_t *)family, strlen(family));
	name_list_add(&x.scan.sources.ebpf_costs, (const uint8_t *)"tcp 0.010 %", 11);
	name_list_add(&x.scan.sources.ebpf_costs, (const uint8_t *)"block 0.200 %", 13);
	x.scan.sources.ebpf_ppm = 2100;
	check("Recorded 5.00 s on 2 CPUs: 47,900 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 47,900\n"
	      "  lost     nothing\n"
	      "  missing  counters of /proc/PID/io: Permission denied\n"
	      "           eBPF counters: runq: the kernel has no BTF\n"
	      "  cost     0.210 % of the machine for eBPF counters: tcp 0.010 %, block 0.200 %\n",
	      false, true);
}

FIXTURE_TEST(test_what_is_not_known_is_left_out)
{
	x.f.cpus = 0;
	check("Recorded 5.00 s: 0 events, 1.18 MiB to x.pftrace\n"
	      "  events   none: no producer recorded any\n"
	      "  lost     not known: the kernel's counters are not in the trace\n",
	      true, true);
	x.f.cpus = 1;
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 1);
	check("Recorded 5.00 s on 1 CPU: 1 event, 1.18 MiB to x.pftrace\n"
	      "  events   sched 1\n"
	      "  lost     nothing\n",
	      false, false);
}

/* Counters are no events. */
FIXTURE_TEST(test_a_recording_of_counters_tells_samples)
{
	facts_deinit(&x);
	facts_init(&x, "data_sources { config { name: 'linux.sys_stats' } } "
		       "data_sources { config { name: 'linux.sysfs_power' } }");
	x.scan.samples.of[SAMPLES_SYS_STATS] = 1204;
	x.scan.samples.of[SAMPLES_COUNTERS] = 1;
	x.f.end = "duration reached";
	check("Recorded 5.00 s on 2 CPUs: 1,205 samples, 1.18 MiB to x.pftrace\n"
	      "  samples  sys_stats 1,204, counters 1\n"
	      "  ended    duration reached\n"
	      "  lost     nothing\n"
	      "  missing  data source 'linux.sysfs_power' recorded nothing: there is no battery "
	      "or power supply with readable values\n",
	      false, true);
}

static void check_next_step(const char *expected)
{
	struct record_verdict verdict;
	struct strbuf out = {0};

	record_summary_with_next_step(&x.f, &out, &verdict);
	assert_non_null(strstr(out.s, "\nnext "));
	assert_string_equal(strstr(out.s, "\nnext ") + 1, expected);
	strbuf_deinit(&out);
}

FIXTURE_TEST(the_next_step_is_a_report_that_shows_the_contents)
{
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 329, 5);
	check_next_step("next      sonda report syscalls x.pftrace\n");
	event_counts_add(&x.scan.ftrace.counts, 4, 1);
	check_next_step("next      sonda report x.pftrace\n");
	facts_deinit(&x);
	facts_init(&x, "data_sources { config { name: 'linux.syscalls' } }");
	x.scan.samples.of[SAMPLES_COUNTERS] = 1;
	check_next_step("next      sonda report counters x.pftrace\n");
	x.scan.samples.of[SAMPLES_SLICES] = 1;
	check_next_step("next      sonda report x.pftrace\n");
	x.scan.samples.of[SAMPLES_COUNTERS] = 0;
	check_next_step("next      sonda report syscalls x.pftrace\n");
}

static void add_hole(uint32_t cpu, uint64_t from_ms, uint64_t to_ms, uint64_t n)
{
	struct holes *h = &x.scan.ftrace.holes;

	h->list[h->n++] = (struct hole){
		.cpu = cpu, .from_ns = from_ms * 1000000, .to_ns = to_ms * 1000000, .events = n};
	h->total++;
}

FIXTURE_TEST(test_holes_stand_by_cpu)
{
	facts_ring(&x, 0, 12);
	event_counts_add(&x.scan.ftrace.counts, 4, 1);
	x.scan.started_ns = 1000000000;
	x.scan.disabled_ns = 6000000000;
	add_hole(0, 0, 1500, 0);
	add_hole(2, 2000, 2100, 5);
	for (unsigned i = 0; i < 5; i++)
		add_hole(2, 3000 + i, 3000 + i, 0);
	x.scan.ftrace.holes.list[2].on_the_way = true;
	x.scan.ftrace.holes.total = 9;
	check("Recorded 5.00 s on 2 CPUs: 1 event, 1.18 MiB to x.pftrace\n"
	      "  events   sched 1\n"
	      "  lost     kernel rings: 12 events (cpu0 12); try -B 1mb or fewer events\n"
	      "  holes    cpu0 0.000-0.500 s\n"
	      "           cpu2 1.000-1.100 s (5 events), 2.000-2.000 s (lost after the ring), "
	      "2.001-2.001 s, 3 more\n"
	      "           2 shorter ones\n",
	      true, false);
}

FIXTURE_TEST(test_the_same_as_json)
{
	struct record_verdict verdict;
	struct strbuf out = {0};

	facts_ring(&x, 1, 7);
	event_counts_add(&x.scan.ftrace.counts, 4, 3);
	x.scan.started_ns = 1000000000;
	x.scan.disabled_ns = 6000000000;
	add_hole(1, 1500, 2000, 7);
	x.stats.departures[0] = (struct departure_stats){.source = "linux.ftrace",
							 .producer = "a\"b",
							 .pid = 12,
							 .gone_ns = 3000000000,
							 .times = 1};
	x.stats.n_departures = 1;
	name_list_add(&x.sources, (const uint8_t *)"linux.frace", 11);
	x.f.end = "duration reached";
	record_summary_write_json(&x.f, &out, &verdict);
	assert_string_equal(
		out.s,
		"{\"duration_s\":5.000000,\"cpus\":2,\"output\":\"x.pftrace\",\"read\":true,\"file_"
		"bytes\":1240000,\"events\":3,\"event_groups\":{\"sched\":3},\"samples\":{},"
		"\"processes\":0,\"hole_count\":1,\"holes\":[{\"cpu\":1,\"from_s\":0.500000,\"to_"
		"s\":1.000000,\"place\":\"kernel "
		"ring\",\"events\":7}],\"losses\":[{\"place\":\"kernel "
		"rings\",\"count\":7,\"unit\":\"events\",\"text\":\"7 events (cpu1 "
		"7)\",\"advice\":\"try -B 1mb or fewer "
		"events\"},{\"count\":1,\"unit\":\"producers\",\"text\":\"a\\\"b (pid 12) "
		"disconnected 2.0 s after the start: uncommitted data and everything later is "
		"missing from "
		"linux.ftrace\"}],\"losses_known\":true,\"departures\":[{\"data_source\":\"linux."
		"ftrace\",\"producer\":\"a\\\"b\",\"pid\":12,\"gone_s\":2.000000,\"times\":1}],"
		"\"missing\":[\"no producer provides the data source 'linux.frace': is "
		"sonda-probes running?\"],\"end\":\"duration "
		"reached\",\"goes_on\":false,\"lossy\":true}\n");
	assert_true(verdict.lost && verdict.missing);
	strbuf_deinit(&out);
}

/* A session of another process: whether it was begun by words or by a config is not known. */
FIXTURE_TEST(test_a_snapshot_names_options_and_fields)
{
	facts_ring(&x, 1, 7);
	event_counts_add(&x.scan.ftrace.counts, 4, 3);
	x.f.from_words = false;
	x.f.origin_unknown = true;
	x.f.goes_on = true;
	x.stats.buffers[0].bytes_overwritten = 5;
	check("Snapshot after 5.00 s on 2 CPUs: 3 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 3\n"
	      "  lost     kernel rings: 7 events (cpu1 7); try -B 1mb (buffer_size_kb: 1024) or "
	      "fewer events\n"
	      "           central buffer (977 KiB): the oldest 5 B were overwritten; try -b 1mb "
	      "(size_kb: 1024)\n",
	      true, false);
}

/* A file whose recorder was killed, or the first file of a rotation: its counters are those of a
 * moment, and its length is that of its data. */
FIXTURE_TEST(test_a_file_without_the_end_of_the_recording)
{
	facts_ring(&x, 1, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 3);
	x.f.from_words = false;
	x.f.origin_unknown = true;
	x.f.stats = NULL;
	x.f.elapsed_ms = 0;
	x.scan.started_ns = 1000000000;
	x.scan.oldest_ns = 1100000000;
	x.scan.newest_ns = 1300000000;
	x.scan.ftrace.first_ns = 1200000000;
	x.scan.ftrace.last_ns = 1400000000;
	x.scan.ftrace.to_boot_ns = 200000000;
	check("Recorded 0.60 s (events cover 0.20 s) on 2 CPUs: 3 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 3\n"
	      "  lost     not known: the end of the recording is not in the trace\n",
	      true, false);
	x.scan.ftrace.bundles_after_loss = 1;
	x.scan.ftrace.holes.counted = 7;
	check("Recorded 0.60 s (events cover 0.20 s) on 2 CPUs: 3 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 3\n"
	      "  lost     kernel rings: at least 7 events, in 1 place; try -B 1mb "
	      "(buffer_size_kb: 1024) or fewer events\n"
	      "           further losses are unknown: the end of the recording is not in the "
	      "trace\n",
	      true, false);
	x.scan.stats.final_flush_succeeded = true;
	x.scan.ftrace.bundles_after_loss = 0;
	check("Recorded 0.60 s (events cover 0.20 s) on 2 CPUs: 3 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 3\n"
	      "  lost     nothing\n",
	      false, false);
}

FIXTURE_TEST(test_a_mistyped_source_is_reported_with_the_nearest)
{
	facts_ring(&x, 0, 0);
	name_list_add(&x.offered, (const uint8_t *)"linux.ftrace", 12);
	name_list_add(&x.sources, (const uint8_t *)"linux.frace", 11);
	name_list_add(&x.sources, (const uint8_t *)"linux.sys_stats", 15);
	event_counts_add(&x.scan.ftrace.counts, 4, 2);
	check(TWO_EVENTS
	      "  lost     nothing\n"
	      "  missing  no producer provides the data source 'linux.frace'; did you mean "
	      "linux.ftrace?\n"
	      "           no producer provides the data source 'linux.sys_stats'\n",
	      false, true);
}

FIXTURE_TEST(a_program_that_came_after_the_start_and_left_before_the_end_is_not_missing)
{
	facts_ring(&x, 0, 0);
	name_list_add(&x.sources, (const uint8_t *)"track_event", 11);
	event_counts_add(&x.scan.ftrace.counts, 4, 2);
	check(TWO_EVENTS
	      "  lost     nothing\n"
	      "  missing  no track events, and no program that provides them was running at the "
	      "start or at the end\n",
	      false, true);
	x.scan.samples.of[SAMPLES_SLICES] = 7;
	check("Recorded 5.00 s on 2 CPUs: 2 events, 7 samples (slices), 1.18 MiB to x.pftrace\n"
	      "  events   sched 2\n"
	      "  lost     nothing\n",
	      false, false);
}

FIXTURE_TEST(test_a_recording_without_ftrace_has_nothing_to_lose_there)
{
	facts_deinit(&x);
	facts_init(&x, "buffers { size_kb: 1 }");
	check("Recorded 5.00 s on 2 CPUs: 0 packets, 1.18 MiB to x.pftrace\n"
	      "  lost     nothing\n",
	      false, false);
}

FIXTURE_TEST(test_what_is_missing)
{
	facts_deinit(&x);
	facts_init(&x, "data_sources { config { name: 'linux.ftrace' ftrace_config {"
		       " ftrace_events: 'sched/sched_swich' } } }");
	facts_ring(&x, 0, 0);
	assert_int_equal(kernel_events_setup(NULL), 0);
	x.f.events = &events;
	name_list_add(&x.sources, (const uint8_t *)"linux.perf", 10);
	name_list_add(&x.sources, (const uint8_t *)"my.own", 6);
	name_list_add(&x.left_out, (const uint8_t *)"data source 'x' is not recorded", 31);
	x.f.skipped = &x.offered;
	name_list_add(&x.offered, (const uint8_t *)"x is skipped", 12);
	x.f.idle = &(struct event_requests){.names = (char *[]){(char *)"!sched_swtch"}, .n = 1};
	check("Recorded 5.00 s on 2 CPUs: 0 events, 1.18 MiB to x.pftrace\n"
	      "  events   none: none of the requested events occurred\n"
	      "  lost     nothing\n"
	      "  missing  no producer provides the data source 'linux.perf': is sonda-probes "
	      "running?\n"
	      "           no producer provides the data source 'my.own'\n"
	      "           data source 'x' is not recorded\n"
	      "           x is skipped\n"
	      "           '!sched_swtch' matches no event to exclude; did you mean "
	      "sched/sched_switch?\n"
	      "           event 'sched/sched_swich' does not exist; did you mean "
	      "sched/sched_switch?\n",
	      false, true);
	kernel_events_teardown(NULL);
}

static void add_text(struct name_list *l, const char *text)
{
	name_list_add_text(l, (const uint8_t *)text, strlen(text));
}

static void use_config(const char *text)
{
	facts_deinit(&x);
	facts_init(&x, text);
	facts_ring(&x, 0, 0);
}

#define WITH(ftrace) "data_sources { config { name: 'linux.ftrace' ftrace_config { " ftrace " } } }"

/* What is missing has the reasons; `events` tells that there was nothing else. */
FIXTURE_TEST(test_no_events_are_explained)
{
	static const struct {
		const char *config, *unknown, *failed[2], *events, *missing;
	} rows[] = {
		{WITH("ftrace_events: 'a/b' ftrace_events: 'c/d'"),
		 "a/b",
		 {"c/d (busy)"},
		 "none of the requested events could be recorded",
		 "event 'a/b' does not exist\n"
		 "           event c/d could not be recorded: busy\n"},
		{WITH("ftrace_events: 'a/b' ftrace_events: 'c/d' tids_to_trace: 1 "
		      "tracing_cpumask: '3' event_filters { event: 'c/d' filter: 'x' }"),
		 NULL,
		 {"a/b", "c/dd (busy)"},
		 "none of the requested events that could be recorded occurred in these threads "
		 "on these CPUs and passed the filters",
		 "event a/b could not be recorded\n"
		 "           event c/dd could not be recorded: busy\n"},
		{WITH("kprobe_events { probe: 'f' }"),
		 NULL,
		 {"option:kprobe_events (there are none)"},
		 "none of the requested events could be recorded",
		 "ftrace option kprobe_events: there are none\n"},
		{WITH("kprobe_events { probe: 'f' } kprobe_events { probe: 'g' }"),
		 NULL,
		 {"option:kprobe_events (f: no)"},
		 "none of the requested events occurred",
		 "ftrace option kprobe_events: f: no\n"},
		{WITH("kprobe_events { probe: 'f' } kprobe_events { probe: 'g' }"),
		 NULL,
		 {"option:kprobe_events (the kernel has no kprobe_events)"},
		 "none of the requested events could be recorded",
		 "ftrace option kprobe_events: the kernel has no kprobe_events\n"},
		{WITH("uprobe_events: 'p:past /bin/x:0x9' uprobe_events: 'q'"),
		 NULL,
		 {"option:uprobe_events (q: no)", "uprobes/past (no)"},
		 "none of the requested events could be recorded",
		 "ftrace option uprobe_events: q: no\n"
		 "           event uprobes/past could not be recorded: no\n"},
		{WITH("enable_function_graph: true"),
		 NULL,
		 {"option:enable_function_graph (limited by x)"},
		 "none of the requested events occurred",
		 "ftrace option enable_function_graph: limited by x\n"},
		{WITH("ftrace_events: 'softirq_entry'"),
		 NULL,
		 {"irq/softirq_entry (no)"},
		 "none of the requested events could be recorded",
		 "event irq/softirq_entry could not be recorded: no\n"},
		/* Whether all of a pattern was refused is not known here; an option says nothing of
		 * it. */
		{WITH("ftrace_events: 'irq/*'"),
		 NULL,
		 {"option:subbuf_size_kb (no)", "irq/softirq_entry (no)"},
		 "none of the requested events that could be recorded occurred",
		 "ftrace option subbuf_size_kb: no\n"
		 "           event irq/softirq_entry could not be recorded: no\n"},
	};
	char expected[512];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		use_config(rows[i].config);
		if (rows[i].unknown)
			add_text(&x.scan.ftrace.unknown, rows[i].unknown);
		for (size_t k = 0; k < 2 && rows[i].failed[k]; k++)
			add_text(&x.scan.ftrace.failed, rows[i].failed[k]);
		snprintf(expected, sizeof(expected),
			 "Recorded 5.00 s on 2 CPUs: 0 events, 1.18 MiB to x.pftrace\n"
			 "  events   none: %s\n"
			 "  lost     nothing\n"
			 "  missing  %s",
			 rows[i].events, rows[i].missing);
		check(expected, false, true);
	}
}

FIXTURE_TEST(test_no_events_beside_a_message_of_ftrace)
{
	use_config(FACTS_FTRACE);
	add_text(&x.scan.ftrace.problems, "a remark");
	check("Recorded 5.00 s on 2 CPUs: 0 events, 1.18 MiB to x.pftrace\n"
	      "  events   none: none of the requested events occurred\n"
	      "  lost     nothing\n"
	      "  missing  ftrace: a remark\n",
	      false, true);

	facts_deinit(&x);
	facts_init(&x, FACTS_FTRACE);
	add_text(&x.scan.ftrace.problems, "no tracefs");
	check("Recorded 5.00 s on 2 CPUs: 0 events, 1.18 MiB to x.pftrace\n"
	      "  events   none: ftrace could not be used\n"
	      "  lost     not known: the kernel's counters are not in the trace\n"
	      "  missing  ftrace: no tracefs\n",
	      true, true);
}

FIXTURE_TEST(test_sources_that_were_too_slow)
{
	event_counts_add(&x.scan.ftrace.counts, 4, 2);
	facts_ring(&x, 0, 0);
	x.f.not_started = true;
	check(TWO_EVENTS "  lost     nothing\n"
			 "  missing  the recording ended before all data sources had started\n",
	      false, true);
}

FIXTURE_TEST(test_how_the_command_ended)
{
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 2);
	x.f.command_end = "'app' exited with code 3";
	check(TWO_EVENTS "  command  'app' exited with code 3\n"
			 "  lost     nothing\n",
	      false, false);
}

FIXTURE_TEST(test_long_lists_are_cut_but_counted)
{
	struct record_verdict verdict;
	struct strbuf out = {0};
	char name[32];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "my.source%02d", i);
		name_list_add(&x.sources, (const uint8_t *)name, strlen(name));
	}
	record_summary_write(&x.f, &out, &verdict);
	assert_true(verdict.missing);
	assert_non_null(strstr(out.s, "'my.source19'\n           30 more\n"));
	assert_null(strstr(out.s, "my.source20"));
	strbuf_deinit(&out);
}

FIXTURE_TEST(test_many_groups_are_summed_up)
{
	static const uint32_t fields[] = {4, 235, 24, 45, 56, 60, 27, 11, 3, 46};

	facts_ring(&x, 0, 0);
	for (uint32_t i = 0; i < 10; i++)
		event_counts_add(&x.scan.ftrace.counts, fields[i], 1000 - i);
	event_counts_add(&x.scan.ftrace.counts, 99999, 1); /* without a group */
	check("Recorded 5.00 s on 2 CPUs: 9,956 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 1,000, task 999, irq 998, block 997, workqueue 996, regulator 995, "
	      "i2c 994, power 993, 3 other groups 1,984\n"
	      "  lost     nothing\n",
	      false, false);
}

FIXTURE_TEST(test_what_the_summary_could_not_read_is_noted)
{
	facts_ring(&x, 0, 0);
	x.scan.compressed_packets = 3;
	x.scan.bad_packets = 2;
	check("Recorded 5.00 s on 2 CPUs: 0 events, 1.18 MiB to x.pftrace\n"
	      "  lost     nothing\n"
	      "  note     compressed packets not read for this summary: 3\n"
	      "           packets that this summary could not read: 2\n",
	      false, false);
}

#define RECORDER FACTS_FTRACE " trigger_config { trigger_mode: %s triggers { name: 'late' } }"

static void set_mode(const char *mode)
{
	char config[512];

	facts_deinit(&x);
	snprintf(config, sizeof(config), RECORDER, mode);
	facts_init(&x, config);
}

FIXTURE_TEST(test_snapshots_stand_in_place_of_one_trace)
{
	struct snapshot_log log = {.saved = 2, .n_lines = 2};

	set_mode("CLONE_SNAPSHOT");
	log.lines[0] = strdup("x.0.pftrace: all of it");
	log.lines[1] = strdup("x.1.pftrace: the rest");
	x.f.snapshots = &log;
	/* Those of the newest: it ends before the recording does. */
	x.scan.started_ns = 7000000000;
	x.scan.disabled_ns = 8000000000;
	x.f.command_end = "'make' ended well";
	check("Recorded 5.00 s on 2 CPUs: 2 snapshots\n"
	      "  snapshot x.0.pftrace: all of it\n"
	      "           x.1.pftrace: the rest\n"
	      "  command  'make' ended well\n",
	      false, false);
	log.lossy = true;
	log.saved = 1;
	log.failed = 1;
	x.f.command_end = NULL;
	name_list_add(&x.sources, (const uint8_t *)"linux.nosuch", 12);
	check("Recorded 5.00 s on 2 CPUs: 1 snapshot, 1 not saved\n"
	      "  snapshot x.0.pftrace: all of it\n"
	      "           x.1.pftrace: the rest\n"
	      "  missing  no producer provides the data source 'linux.nosuch': is sonda-probes "
	      "running?\n",
	      true, true);
	snapshot_log_deinit(&log);
}

FIXTURE_TEST(what_a_limit_left_out_is_a_note_and_no_loss)
{
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 100);
	x.scan.sources.counted[0] =
		(struct source_counted){"waits", "long waits without a slice", 1234, true};
	x.scan.sources.n_counted = 1;
	check("Recorded 5.00 s on 2 CPUs: 100 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 100\n"
	      "  lost     nothing\n"
	      "  note     waits: 1,234 long waits without a slice; their time is counted\n",
	      false, false);
}

/* Of a ring that is there to go round until a trigger comes. */
FIXTURE_TEST(test_a_ring_that_went_round_is_no_loss)
{
	set_mode("STOP_TRACING");
	facts_ring(&x, 0, 0);
	event_counts_add(&x.scan.ftrace.counts, 4, 100);
	x.scan.started_ns = 7000000000;
	x.scan.disabled_ns = 67000000000;
	x.scan.ftrace.first_ns = 58700000000;
	x.scan.has_stats = true;
	x.scan.stats.n_buffers = 1;
	x.scan.stats.buffers[0].bytes_overwritten = 4000000;
	x.stats.buffers[0].bytes_overwritten = 4000000;
	check("Recorded 60.00 s on 2 CPUs: 100 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 100\n"
	      "  lost     nothing\n"
	      "  note     the ring buffer wrapped: the trace covers the last 8.3 s\n",
	      false, false);
	/* With another clock in the trace. */
	x.scan.ftrace.first_ns += 1000000000000;
	x.scan.ftrace.to_boot_ns = -1000000000000;
	check("Recorded 60.00 s on 2 CPUs: 100 events, 1.18 MiB to x.pftrace\n"
	      "  events   sched 100\n"
	      "  lost     nothing\n"
	      "  note     the ring buffer wrapped: the trace covers the last 8.3 s\n",
	      false, false);
}
