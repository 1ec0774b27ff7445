/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as the data sources write them, made by hand, and the rates that follow from them. */
#include "analyze/live/live.h"
#include "base/core/clock.h"
#include "unit/message_text.h"

#define BEGAN (100 * NS_PER_S)
#define AFTER(seconds) (BEGAN + (seconds)*NS_PER_S)
#define PID 42

static struct live *live;

static int set_up_for(struct live_setup setup)
{
	setup.began_ns = BEGAN;
	setup.period_ns = NS_PER_S;
	return live_new(&setup, &live);
}

static int set_up_tracks(void **state)
{
	return set_up_for((struct live_setup){.top_n = 16});
}

static int set_up_rows(void **state)
{
	return set_up_for((struct live_setup){.top_n = 1});
}

static int tear_down(void **state)
{
	live_free(live);
	return 0;
}

/* Families write tracks of so many processes, or rows of all and tracks of one. */
#define LIVE_TEST(name) TEST_WITH(name, set_up_tracks, tear_down)
#define ROWS_TEST(name) TEST_WITH(name, set_up_rows, tear_down)

/* A packet of that time with these fields. */
#define take(ns, ...)                                                                              \
	do {                                                                                       \
		struct pb_mem m;                                                                   \
		assert_int_equal(pb_mem_init(&m), 0);                                              \
		message_put(&m.enc, "TracePacket", "timestamp: %" PRIu64, (uint64_t)(ns));         \
		message_put(&m.enc, "TracePacket", __VA_ARGS__);                                   \
		live_add_packet(live, m.buf, pb_mem_len(&m));                                      \
		pb_mem_deinit(&m);                                                                 \
	} while (0)

static void describe(uint64_t uuid, uint64_t parent, const char *fields)
{
	take(BEGAN, "track_descriptor { uuid: %" PRIu64 " parent_uuid: %" PRIu64 " %s }", uuid,
	     parent, fields);
}

static void value(uint64_t ns, uint64_t uuid, uint64_t v)
{
	take(ns, "track_event { type: 4 track_uuid: %" PRIu64 " counter_value: %" PRIu64 " }", uuid,
	     v);
}

static void name_process(const char *name, uint64_t start_ns)
{
	take(BEGAN,
	     "process_tree { processes { pid: %d cmdline: '%s' process_start_from_boot: %" PRIu64
	     " } }",
	     PID, name, start_ns);
}

static void poll_memory(uint64_t ns, int32_t pid)
{
	take(ns, "process_stats { processes { pid: %d vm_rss_kb: 4 } }", pid);
}

static void find(void *ctx, const struct live_process *p)
{
	if (p->pid == PID)
		*(const struct live_process **)ctx = p;
}

static const struct live_process *process(void)
{
	const struct live_process *p = NULL;

	live_each_process(live, find, &p);
	return p;
}

static void check_rate(enum live_metric metric, double rate, uint64_t total)
{
	const struct live_process *p = process();

	assert_non_null(p);
	assert_true(p->values[metric].has_rate);
	assert_float_equal(p->values[metric].rate, rate, 1e-6);
	assert_int_equal(p->values[metric].total, total);
}

enum { PROCESS = 1, CPU_TIME, SYSCALLS, READ, GROUP, BY_NAME, CPU3, P99, LOST, EBPF };

static void describe_process(void)
{
	describe(PROCESS, 0, "process { pid: 42 }");
	describe(CPU_TIME, PROCESS, "name: 'CPU time'");
	describe(SYSCALLS, PROCESS, "name: 'syscalls'");
	describe(READ, PROCESS, "name: 'io.read_bytes'");
}

/* The first poll of a source: from then on growth has a rate. */
static void poll_first(const char *counter)
{
	char name[64];

	snprintf(name, sizeof(name), "name: '%s'", counter);
	describe(EBPF, 0, "process { pid: 7 }");
	describe(GROUP, EBPF, name);
	value(BEGAN, GROUP, 0);
	live_end_period(live);
}

LIVE_TEST(what_was_counted_until_the_first_poll_has_no_rate)
{
	describe_process();
	/* Programs count from when they are attached, which is before the session has begun. */
	value(BEGAN + 1, CPU_TIME, NS_PER_S);
	live_end_period(live);
	assert_false(process()->values[LIVE_CPU].has_rate);
	assert_int_equal(process()->values[LIVE_CPU].total, NS_PER_S);
	value(BEGAN + 1 + NS_PER_S, CPU_TIME, NS_PER_S + 9);
	live_end_period(live);
	check_rate(LIVE_CPU, 9, NS_PER_S + 9);
}

LIVE_TEST(a_rate_is_growth_by_the_time_between_values)
{
	poll_first("CPU time");
	describe_process();
	value(AFTER(2), CPU_TIME, NS_PER_S);
	assert_true(live_end_period(live));
	check_rate(LIVE_CPU, 5e8, NS_PER_S);
	value(AFTER(3), CPU_TIME, NS_PER_S + 250);
	assert_true(live_end_period(live));
	check_rate(LIVE_CPU, 250, NS_PER_S + 250);
	assert_false(live_end_period(live)); /* nothing new */
	check_rate(LIVE_CPU, 250, NS_PER_S + 250);
}

LIVE_TEST(a_process_that_began_later_counts_from_the_screen_before)
{
	describe(EBPF, 0, "process { pid: 7 }");
	describe(GROUP, EBPF, "name: 'CPU time'");
	value(AFTER(9), GROUP, 1);
	assert_true(live_end_period(live));
	describe_process();
	value(AFTER(10), CPU_TIME, 700);
	assert_true(live_end_period(live));
	check_rate(LIVE_CPU, 700, 700);
}

LIVE_TEST(what_a_process_did_before_the_session_is_no_growth)
{
	name_process("old", BEGAN - NS_PER_S);
	describe_process();
	value(AFTER(1), READ, 5000);
	live_end_period(live);
	assert_false(process()->values[LIVE_READ].has_rate);
	value(AFTER(2), READ, 5600);
	live_end_period(live);
	check_rate(LIVE_READ, 600, 600);
}

LIVE_TEST(what_a_new_process_did_before_its_first_poll_is_growth)
{
	poll_first("io.read_bytes");
	name_process("new", AFTER(1) / 2 + BEGAN / 2);
	describe_process();
	value(AFTER(1), READ, 5000);
	live_end_period(live);
	check_rate(LIVE_READ, 5000, 5000);
}

/* A poll reads one process after the other: this screen has the first of them only. */
LIVE_TEST(a_screen_within_a_poll_does_not_raise_the_next)
{
	poll_first("io.read_bytes");
	name_process("new", AFTER(1) / 2 + BEGAN / 2);
	describe_process();
	value(AFTER(2), GROUP, 1);
	live_end_period(live);
	value(AFTER(2) + 1000, READ, 5000);
	live_end_period(live);
	check_rate(LIVE_READ, 5000 * 1e9 / (1e9 + 1000), 5000);
	value(AFTER(3), GROUP, 2);
	live_end_period(live);
	value(AFTER(3) + 1000, READ, 9000);
	live_end_period(live);
	check_rate(LIVE_READ, 4000, 9000);
}

LIVE_TEST(another_process_with_the_same_pid_starts_anew)
{
	name_process("first", AFTER(0));
	describe_process();
	value(AFTER(1), SYSCALLS, 90);
	live_end_period(live);
	name_process("first", 0); /* unknown: the start of before stays */
	name_process("second", AFTER(1));
	value(AFTER(2), SYSCALLS, 100);
	live_end_period(live);
	assert_string_equal(process()->name, "second");
	check_rate(LIVE_SYSCALLS, 100, 100);
}

LIVE_TEST(a_process_that_ended_has_rate_0_and_is_forgotten)
{
	poll_first("CPU time");
	describe_process();
	value(AFTER(1), CPU_TIME, 100);
	live_end_period(live);
	describe(EBPF, 0, "process { pid: 7 }");
	describe(GROUP, EBPF, "name: 'CPU time'");
	value(AFTER(2), GROUP, 1);
	live_end_period(live);
	check_rate(LIVE_CPU, 0, 100);
	value(AFTER(5), GROUP, 1);
	live_end_period(live);
	assert_null(process());
}

LIVE_TEST(a_process_that_a_late_poll_meets_keeps_its_name)
{
	name_process("name", BEGAN);
	describe(EBPF, 0, "process { pid: 7 }");
	describe(GROUP, EBPF, "name: 'CPU time'");
	poll_memory(AFTER(1), 1);
	value(AFTER(9), GROUP, 1);
	live_end_period(live);
	poll_memory(AFTER(10), PID);
	live_end_period(live);
	assert_non_null(process());
	assert_string_equal(process()->name, "name");
}

LIVE_TEST(a_process_that_several_polls_do_not_meet_is_forgotten)
{
	name_process("name", BEGAN);
	poll_memory(AFTER(1), PID);
	for (unsigned second = 1; second < 6; second++)
		poll_memory(AFTER(second), 1);
	live_end_period(live);
	poll_memory(AFTER(6), PID);
	live_end_period(live);
	assert_non_null(process());
	assert_string_equal(process()->name, "");
}

LIVE_TEST(a_counter_below_a_group_of_the_process_is_not_one_of_its_own)
{
	poll_first("CPU time");
	describe_process();
	describe(GROUP, PROCESS, "name: 'syscalls by name'");
	describe(BY_NAME, GROUP, "name: 'syscalls'");
	value(AFTER(1), BY_NAME, 50);
	value(AFTER(1), SYSCALLS, 8);
	live_end_period(live);
	check_rate(LIVE_SYSCALLS, 8, 8);
}

LIVE_TEST(a_process_without_a_counter_of_calls_made_none)
{
	describe_process();
	value(AFTER(1), CPU_TIME, 50);
	live_end_period(live);
	assert_false(process()
			     ->values[LIVE_SYSCALLS]
			     .has_rate); /* nor is it known that they are counted */
	describe(EBPF, 0, "process { pid: 7 }");
	describe(GROUP, EBPF, "name: 'syscalls'");
	value(AFTER(2), GROUP, 1);
	value(AFTER(2), CPU_TIME, 60);
	live_end_period(live);
	check_rate(LIVE_SYSCALLS, 0, 0);
}

LIVE_TEST(several_values_in_one_packet)
{
	poll_first("CPU time");
	describe_process();
	take(AFTER(1),
	     "track_event { track_uuid: %d counter_value: 5 extra_counter_track_uuids: %d "
	     "extra_counter_values: 7 }",
	     CPU_TIME, SYSCALLS);
	live_end_period(live);
	check_rate(LIVE_CPU, 5, 5);
	check_rate(LIVE_SYSCALLS, 7, 7);
}

LIVE_TEST(the_longest_latency_of_the_cpus)
{
	const struct live_machine *m;

	describe(GROUP, 0, "name: 'eBPF counters'");
	describe(CPU3, GROUP, "name: 'CPU 3'");
	describe(P99, CPU3, "name: 'runq latency p99'");
	value(AFTER(1), P99, 4711);
	assert_true(live_end_period(live));
	m = live_machine(live);
	assert_true(m->has_runq);
	assert_int_equal(m->runq_p99_cpu, 3);
	assert_float_equal(m->runq_p99_ns, 4711, 0);
}

/* sonda top -p PID: a process that does not run makes no row. */
static int set_up_some(void **state)
{
	return set_up_for((struct live_setup){.top_n = 16, .only_some = true});
}

TEST_WITH(chosen_processes_may_all_be_idle, set_up_some, tear_down)
{
	assert_false(live_has_processes(live)); /* programs are not loaded yet */
	describe(GROUP, 0, "name: 'eBPF counters'");
	describe(CPU3, GROUP, "name: 'CPU 3'");
	describe(P99, CPU3, "name: 'runq latency p99'");
	value(AFTER(1), P99, 4711);
	assert_true(live_has_processes(live));
}

LIVE_TEST(every_loss_is_counted)
{
	const struct live_losses *l;

	describe(GROUP, 0, "name: 'eBPF counters'");
	describe(LOST, GROUP, "name: 'cpu_time lost'");
	value(AFTER(1), LOST, 3);
	value(AFTER(1), 999, 3); /* of a process that has ended */
	take(AFTER(1), "previous_packet_dropped: 64 process_stats { }");
	value(AFTER(1), 998, 3); /* its description was in a packet that is missing */
	live_add_packet(live, (const uint8_t *)"\xff", 1);
	live_end_period(live);
	l = live_losses(live);
	assert_int_equal(l->unknown_values, 1);
	assert_int_equal(l->packets, 1);
	assert_int_equal(l->bad_packets, 1);
	assert_string_equal(l->counters.s, "cpu_time lost 3");
}

LIVE_TEST(a_family_that_does_not_run_is_reported)
{
	for (int i = 0; i < 2; i++)
		take(BEGAN, "ebpf_counters_stats { failures { what: 'cpu_time' reason: 'no "
			    "permission' } }");
	assert_true(live_is_cpu_time_missing(live));
	assert_string_equal(live_ebpf_failures(live), "cpu_time: no permission\n");
}

/* A sonda-probes that was built without BPF programs. */
LIVE_TEST(no_family_runs)
{
	take(BEGAN, "ebpf_counters_stats { failures { what: 'runq' reason: 'no permission' } }");
	assert_false(live_is_cpu_time_missing(live));
	take(BEGAN, "ebpf_counters_stats { failures { what: 'all families' reason: 'no clang' } }");
	assert_true(live_is_cpu_time_missing(live));
}

LIVE_TEST(the_time_of_the_cpus)
{
	static const uint64_t busy[] = {0, 30, 40}, idle[] = {0, 70, 160};

	for (unsigned i = 0; i < 3; i++) {
		char cpu[128];

		snprintf(cpu, sizeof(cpu), "user_ns: %" PRIu64 " idle_ns: %" PRIu64, 1000 + busy[i],
			 1000 + idle[i]);
		take(AFTER(i + 1),
		     "sys_stats { cpu_stat { cpu_id: 0 %s } cpu_stat { cpu_id: 1 %s } }", cpu, cpu);
		assert_true(live_end_period(live));
		assert_int_equal(live_machine(live)->has_cpu, i > 0);
	}
	assert_int_equal(live_machine(live)->cpus, 2);
	assert_float_equal(live_machine(live)->user, 0.1, 1e-9);
	assert_float_equal(live_machine(live)->idle, 0.9, 1e-9);
}

/* ---- rows ---- */

static void rows(uint64_t ns, const char *family, unsigned columns, size_t n,
		 const uint64_t *numbers)
{
	struct strbuf list = {0};

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&list, "%" PRIu64 " ", numbers[i]);
	take(ns, "ebpf_process_rows { family: '%s' columns: %u rows: [%s] }", family, columns,
	     list.s);
	strbuf_deinit(&list);
}

#define ROWS(ns, family, columns, ...)                                                             \
	rows(ns, family, columns, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),            \
	     (uint64_t[]){__VA_ARGS__})

ROWS_TEST(rows_of_families_are_rates_of_processes)
{
	ROWS(BEGAN, "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	ROWS(BEGAN, "syscalls", 3, 7, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 900, 0, 0, 7, 1, 1, 1, 1, 1);
	ROWS(AFTER(1), "syscalls", 3, PID, 10, 500, 1);
	assert_false(live_has_processes(live));
	ROWS(AFTER(1), "processes", 4, PID, 5, 4096, 1000, 2000);
	assert_true(live_has_processes(live));
	take(AFTER(1),
	     "ebpf_process_rows { family: 'processes' columns: 4 processes { pid: %d name: 'cat' } "
	     "}",
	     PID);
	assert_true(live_end_period(live));
	check_rate(LIVE_CPU, 100, 100);
	check_rate(LIVE_SLEEP, 900, 900);
	check_rate(LIVE_SYSCALLS, 10, 10);
	assert_string_equal(process()->name, "cat");
	assert_int_equal(process()->rss, 4096);
	/* What it read before the session is not counted. */
	assert_int_equal(process()->values[LIVE_READ].total, 0);
	ROWS(AFTER(2), "cpu_time", 5, PID, 150, 50, 900, 0, 0);
	ROWS(AFTER(2), "processes", 4, PID, 5, 8192, 1500, 2000);
	live_end_period(live);
	check_rate(LIVE_CPU, 50, 150);
	check_rate(LIVE_RUNQ, 50, 50);
	check_rate(LIVE_SYSCALLS, 10, 10); /* the family was not read in this period */
	check_rate(LIVE_READ, 500, 500);
	check_rate(LIVE_WRITTEN, 0, 0);
}

ROWS_TEST(a_process_that_stopped_between_two_polls_has_the_rate_of_both)
{
	ROWS(BEGAN, "cpu_time", 5, PID, 0, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(AFTER(2), "cpu_time", 5, 7, 100, 0, 0, 0, 0);
	live_end_period(live);
	check_rate(LIVE_CPU, 50, 100);
	/* A short period: it did nothing. */
	ROWS(AFTER(2) + 1000, "cpu_time", 5, 7, 200, 0, 0, 0, 0);
	live_end_period(live);
	check_rate(LIVE_CPU, 0, 100);
}

ROWS_TEST(rows_that_arrive_after_the_screen_of_their_poll_do_not_raise_the_next)
{
	ROWS(BEGAN, "cpu_time", 5, PID, 0, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, 7, 100, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(AFTER(2), "cpu_time", 5, PID, 130, 0, 0, 0, 0);
	live_end_period(live);
	check_rate(LIVE_CPU, 30, 130);
}

ROWS_TEST(a_screen_without_new_values_of_processes_is_stale)
{
	uint64_t at;

	ROWS(BEGAN, "cpu_time", 5, PID, 0, 0, 0, 0, 0);
	live_end_period(live);
	assert_false(live_is_stale(live, &at));
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	live_end_period(live);
	assert_false(live_is_stale(live, &at));
	/* Another source goes on. */
	ROWS(AFTER(2), "syscalls", 3, PID, 10, 500, 1);
	assert_true(live_end_period(live));
	assert_true(live_is_stale(live, &at));
	assert_int_equal(at, AFTER(1));
	ROWS(AFTER(3), "cpu_time", 5, PID, 200, 0, 0, 0, 0);
	live_end_period(live);
	assert_false(live_is_stale(live, &at));
}

ROWS_TEST(a_process_that_no_list_has_is_shown_while_it_counts)
{
	ROWS(BEGAN, "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(AFTER(1), "processes", 4, 7, 5, 4096, 0, 0);
	live_end_period(live);
	check_rate(LIVE_CPU, 100, 100);
	ROWS(AFTER(2), "cpu_time", 5, 7, 1, 0, 0, 0, 0);
	ROWS(AFTER(2), "processes", 4, 7, 5, 4096, 0, 0);
	live_end_period(live);
	assert_null(process());
}

ROWS_TEST(another_process_with_the_pid_counts_from_its_own_start)
{
	ROWS(AFTER(1), "processes", 4, PID, 5, 4096, 1000, 0);
	live_end_period(live);
	ROWS(AFTER(2), "processes", 4, PID, AFTER(1), 4096, 300, 0);
	live_end_period(live);
	check_rate(LIVE_READ, 300, 300);
}

ROWS_TEST(bad_rows_are_counted)
{
	const struct live_losses *lost;

	lost = live_losses(live);
	ROWS(AFTER(1), "processes", 4, PID, 5, 4096, 1000, 0, 8);
	assert_int_equal(lost->bad_packets, 1);
	ROWS(AFTER(1), "processes", 3, PID, 5, 4096, 1000);
	ROWS(AFTER(1), "processes", 1000, PID, 5, 4096, 1000);
	assert_int_equal(lost->bad_packets, 3);
	ROWS(AFTER(1), "processes", 4, 0, 5, 4096, 1000, 0, 1ull << 40, 5, 4096, 1000, 0);
	ROWS(AFTER(1), "a family of another version", 9, PID, 5);
	assert_int_equal(lost->bad_packets, 3);
}

ROWS_TEST(a_kernel_without_the_list_of_processes)
{
	assert_false(live_are_processes_missing(live));
	take(BEGAN, "ebpf_counters_stats { failures { what: 'processes' reason: 'the kernel has "
		    "none' } }");
	assert_true(live_are_processes_missing(live));
	assert_string_equal(live_ebpf_failures(live), "");
}

/* ---- groups ---- */

static int set_up_groups(void **state)
{
	return set_up_for(
		(struct live_setup){.top_n = 1, .has_groups = true, .has_programs = true});
}

#define GROUPS_TEST(name) TEST_WITH(name, set_up_groups, tear_down)

struct wanted {
	const char *name;
	const struct live_group *found;
};

static void find_group(void *ctx, const struct live_group *g)
{
	struct wanted *w = ctx;

	if (g->texts[LIVE_GROUP_PATH] && !strcmp(g->texts[LIVE_GROUP_PATH], w->name))
		w->found = g;
}

static const struct live_group *group(enum live_grouping kind, const char *name)
{
	struct wanted w = {.name = name};

	live_each_group(live, kind, find_group, &w);
	assert_non_null(w.found);
	return w.found;
}

static void describe_groups(void)
{
	take(BEGAN, "cgroup_tree { groups { id: 100 path: '/' } groups { id: 101 parent_id: 100 "
		    "path: '/a.service' unit: 'a.service' } }");
}

GROUPS_TEST(a_group_has_what_its_processes_grow)
{
	describe_groups();
	/* PID 42 is in the group 101, 7 and its thread 8 in 100. */
	take(BEGAN,
	     "cgroup_members { group_ids: [101 100] time_delta: [0 0 0] tid_delta: [84 69 2] "
	     "tgid_delta: [0 0 1] group: [0 1 1] }");
	ROWS(BEGAN, "cpu_time", 5, PID, 50, 0, 0, 0, 0, 7, 3, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 150, 0, 0, 0, 0, 7, 4, 0, 0, 0, 0);
	ROWS(AFTER(1), "processes", 4, PID, 5, 4096, 0, 0, 7, 5, 8192, 0, 0);
	live_end_period(live);
	assert_int_equal(process()->group, 101);
	assert_int_equal(group(LIVE_BY_GROUP, "/a.service")->values[LIVE_CPU].total, 150);
	assert_float_equal(group(LIVE_BY_GROUP, "/a.service")->values[LIVE_CPU].rate, 100, 1e-6);
	assert_int_equal(group(LIVE_BY_GROUP, "/a.service")->rss, 4096);
	assert_int_equal(group(LIVE_BY_GROUP, "/a.service")->processes, 1);
	assert_string_equal(group(LIVE_BY_GROUP, "/a.service")->texts[LIVE_GROUP_UNIT],
			    "a.service");
	assert_int_equal(group(LIVE_BY_GROUP, "/")->values[LIVE_CPU].total, 4);
	assert_int_equal(group(LIVE_BY_GROUP, "/")->rss, 8192);
	assert_null(live_find_group(live, 102));
}

GROUPS_TEST(what_a_process_did_before_its_group_is_known_is_added_later)
{
	describe_groups();
	ROWS(BEGAN, "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(AFTER(1), "processes", 4, 7, 5, 4096, 0, 0);
	live_end_period(live);
	/* It has ended; its row arrives now. */
	take(AFTER(1),
	     "cgroup_members { group_ids: [101] time_delta: [0] tid_delta: [84] tgid_delta: [0] "
	     "group: [0] }");
	ROWS(AFTER(2), "cpu_time", 5, 7, 1, 0, 0, 0, 0);
	ROWS(AFTER(2), "processes", 4, 7, 5, 4096, 0, 0);
	live_end_period(live);
	assert_int_equal(group(LIVE_BY_GROUP, "/a.service")->values[LIVE_CPU].total, 100);
	assert_int_equal(group(LIVE_BY_GROUP, "/a.service")->processes, 0);
}

GROUPS_TEST(the_list_of_groups_may_come_long_before_that_of_processes)
{
	describe_groups();
	take(BEGAN,
	     "cgroup_members { group_ids: [101] time_delta: [0] tid_delta: [84] tgid_delta: [0] "
	     "group: [0] }");
	value(AFTER(60), 998, 3);
	ROWS(AFTER(60), "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	live_end_period(live);
	ROWS(AFTER(61), "processes", 4, PID, 5, 4096, 0, 0);
	live_end_period(live);
	assert_int_equal(process()->group, 101);
}

GROUPS_TEST(a_program_has_the_sums_of_its_processes)
{
	ROWS(BEGAN, "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	take(BEGAN, "ebpf_process_rows { family: 'processes' columns: 4 processes { pid: 7 name: "
		    "'/usr/bin/cc' parent_pid: 42 } processes { pid: 42 name: 'cc' } }");
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0, 7, 30, 0, 0, 0, 0);
	ROWS(AFTER(1), "processes", 4, PID, 5, 4096, 0, 0, 7, 5, 8192, 0, 0);
	live_end_period(live);
	assert_int_equal(group(LIVE_BY_PROGRAM, "cc")->values[LIVE_CPU].total, 130);
	assert_int_equal(group(LIVE_BY_PROGRAM, "cc")->processes, 2);
}

GROUPS_TEST(lost_members_and_polls_are_reported)
{
	take(BEGAN, "cgroup_members { lost: 3 polled_because: 'no BTF' }");
	take(BEGAN, "cgroup_members { lost: 3 polled_because: 'no BTF' }");
	assert_int_equal(live_losses(live)->members, 3);
	assert_string_equal(live_ebpf_failures(live),
			    "control groups come from /proc/PID/cgroup: no BTF\n");
}

static int set_up_threads(void **state)
{
	return set_up_for((struct live_setup){.top_n = 1, .by_thread = true, .has_groups = true});
}

TEST_WITH(a_thread_has_a_row_and_is_in_the_group_of_its_process, set_up_threads, tear_down)
{
	take(BEGAN,
	     "cgroup_members { group_ids: [101] time_delta: [0] tid_delta: [14] tgid_delta: [0] "
	     "group: [0] }");
	ROWS(BEGAN, "cpu_time", 5, PID, 50, 0, 0, 0, 0);
	take(BEGAN, "ebpf_process_rows { family: 'processes' columns: 4 processes { pid: 7 name: "
		    "'a' tgid: 7 } processes { pid: 42 name: 'b' tgid: 7 } }");
	live_end_period(live);
	ROWS(AFTER(1), "cpu_time", 5, PID, 150, 0, 0, 0, 0);
	ROWS(AFTER(1), "processes", 4, PID, 5, 0, 0, 0, 7, 5, 8192, 0, 0);
	live_end_period(live);
	check_rate(LIVE_CPU, 100, 150);
	assert_int_equal(process()->tgid, 7);
	assert_int_equal(process()->group, 101);
	assert_string_equal(process()->name, "b");
}
