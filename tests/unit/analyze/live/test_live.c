/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as the data sources write them, made by hand, and the rates that follow from them. */

#include "unit/test.h"

#include "analyze/live/live.h"
#include "base/core/clock.h"
#include "gen/fields.h"
#include "wire/pb_mem.h"

#define BEGAN (100 * NS_PER_S)
#define AFTER(seconds) (BEGAN + (seconds)*NS_PER_S)
#define PID 42
#define EVENT_COUNTER 4

struct rig {
	struct live *live;
	struct pb_mem packet;
};

static void set_up(struct rig *r, uint32_t top_n)
{
	const struct live_setup setup = {.began_ns = BEGAN, .period_ns = NS_PER_S, .top_n = top_n};

	assert_int_equal(live_new(&setup, &r->live), 0);
	assert_int_equal(pb_mem_init(&r->packet), 0);
}

static void tear_down(struct rig *r)
{
	live_free(r->live);
	pb_mem_deinit(&r->packet);
}

/* A test in a rig whose families write values of so many processes. */
#define LIVE_TEST(name, top_n)                                                                     \
	static void name##_in_rig(struct rig *r);                                                  \
	TEST(name)                                                                                 \
	{                                                                                          \
		struct rig r;                                                                      \
                                                                                                   \
		set_up(&r, top_n);                                                                 \
		name##_in_rig(&r);                                                                 \
		tear_down(&r);                                                                     \
	}                                                                                          \
	static void name##_in_rig(struct rig *r)

static struct pb_enc *begin(struct rig *r, uint64_t ns)
{
	pb_mem_reset(&r->packet);
	pb_enc_u64(&r->packet.enc, PB_TRACE_PACKET_TIMESTAMP, ns);
	return &r->packet.enc;
}

static void take(struct rig *r)
{
	assert_false(r->packet.failed);
	live_add_packet(r->live, r->packet.buf, pb_mem_len(&r->packet));
}

static void describe(struct rig *r, uint64_t uuid, uint64_t parent, const char *name, int32_t pid)
{
	struct pb_enc *e = begin(r, BEGAN);

	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, uuid);
	if (parent)
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	if (name)
		pb_enc_str(e, PB_TRACK_DESCRIPTOR_NAME, name);
	if (pid) {
		pb_enc_open(e, PB_TRACK_DESCRIPTOR_PROCESS);
		pb_enc_i64(e, PB_PROCESS_DESCRIPTOR_PID, pid);
		pb_enc_close(e);
	}
	pb_enc_close(e);
	take(r);
}

static void value(struct rig *r, uint64_t ns, uint64_t uuid, uint64_t v)
{
	struct pb_enc *e = begin(r, ns);

	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TYPE, EVENT_COUNTER);
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, uuid);
	pb_enc_i64(e, PB_TRACK_EVENT_COUNTER_VALUE, (int64_t)v);
	pb_enc_close(e);
	take(r);
}

static void name_process(struct rig *r, const char *name, uint64_t start_ns)
{
	struct pb_enc *e = begin(r, BEGAN);

	pb_enc_open(e, PB_TRACE_PACKET_PROCESS_TREE);
	pb_enc_open(e, PB_PROCESS_TREE_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PID, PID);
	pb_enc_str(e, PB_PROCESS_TREE_PROCESS_CMDLINE, name);
	pb_enc_u64(e, PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT, start_ns);
	pb_enc_close(e);
	pb_enc_close(e);
	take(r);
}

static void poll_memory(struct rig *r, uint64_t ns, int32_t pid)
{
	struct pb_enc *e = begin(r, ns);

	pb_enc_open(e, PB_TRACE_PACKET_PROCESS_STATS);
	pb_enc_open(e, PB_PROCESS_STATS_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_STATS_PROCESS_PID, pid);
	pb_enc_u64(e, PB_PROCESS_STATS_PROCESS_VM_RSS_KB, 4);
	pb_enc_close(e);
	pb_enc_close(e);
	take(r);
}

static void find(void *ctx, const struct live_process *p)
{
	if (p->pid == PID)
		*(const struct live_process **)ctx = p;
}

static const struct live_process *process(const struct rig *r)
{
	const struct live_process *p = NULL;

	live_each_process(r->live, find, &p);
	return p;
}

static void check_rate(const struct rig *r, enum live_metric metric, double rate, uint64_t total)
{
	const struct live_process *p = process(r);

	assert_non_null(p);
	assert_true(p->values[metric].has_rate);
	assert_float_equal(p->values[metric].rate, rate, 1e-6);
	assert_int_equal(p->values[metric].total, total);
}

enum { PROCESS = 1, CPU_TIME, SYSCALLS, READ, GROUP, BY_NAME, CPU3, P99, LOST, EBPF };

static void describe_process(struct rig *r)
{
	describe(r, PROCESS, 0, NULL, PID);
	describe(r, CPU_TIME, PROCESS, "CPU time", 0);
	describe(r, SYSCALLS, PROCESS, "syscalls", 0);
	describe(r, READ, PROCESS, "io.read_bytes", 0);
}

/* The first poll of a source: from then on growth has a rate. */
static void poll_first(struct rig *r, const char *counter)
{
	describe(r, EBPF, 0, NULL, 7);
	describe(r, GROUP, EBPF, counter, 0);
	value(r, BEGAN, GROUP, 0);
	live_end_period(r->live);
}

LIVE_TEST(what_was_counted_until_the_first_poll_has_no_rate, 16)
{
	describe_process(r);
	/* Programs count from when they are attached, which is before the session has begun. */
	value(r, BEGAN + 1, CPU_TIME, NS_PER_S);
	live_end_period(r->live);
	assert_false(process(r)->values[LIVE_CPU].has_rate);
	assert_int_equal(process(r)->values[LIVE_CPU].total, NS_PER_S);
	value(r, BEGAN + 1 + NS_PER_S, CPU_TIME, NS_PER_S + 9);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 9, NS_PER_S + 9);
}

LIVE_TEST(a_rate_is_growth_by_the_time_between_values, 16)
{
	poll_first(r, "CPU time");
	describe_process(r);
	value(r, AFTER(2), CPU_TIME, NS_PER_S);
	assert_true(live_end_period(r->live));
	check_rate(r, LIVE_CPU, 5e8, NS_PER_S);
	value(r, AFTER(3), CPU_TIME, NS_PER_S + 250);
	assert_true(live_end_period(r->live));
	check_rate(r, LIVE_CPU, 250, NS_PER_S + 250);
	assert_false(live_end_period(r->live)); /* nothing new */
	check_rate(r, LIVE_CPU, 250, NS_PER_S + 250);
}

LIVE_TEST(a_process_that_began_later_counts_from_the_screen_before, 16)
{
	describe(r, EBPF, 0, NULL, 7);
	describe(r, GROUP, EBPF, "CPU time", 0);
	value(r, AFTER(9), GROUP, 1);
	assert_true(live_end_period(r->live));
	describe_process(r);
	value(r, AFTER(10), CPU_TIME, 700);
	assert_true(live_end_period(r->live));
	check_rate(r, LIVE_CPU, 700, 700);
}

LIVE_TEST(what_a_process_did_before_the_session_is_no_growth, 16)
{
	name_process(r, "old", BEGAN - NS_PER_S);
	describe_process(r);
	value(r, AFTER(1), READ, 5000);
	live_end_period(r->live);
	assert_false(process(r)->values[LIVE_READ].has_rate);
	value(r, AFTER(2), READ, 5600);
	live_end_period(r->live);
	check_rate(r, LIVE_READ, 600, 600);
}

LIVE_TEST(what_a_new_process_did_before_its_first_poll_is_growth, 16)
{
	poll_first(r, "io.read_bytes");
	name_process(r, "new", AFTER(1) / 2 + BEGAN / 2);
	describe_process(r);
	value(r, AFTER(1), READ, 5000);
	live_end_period(r->live);
	check_rate(r, LIVE_READ, 5000, 5000);
}

LIVE_TEST(another_process_with_the_same_pid_starts_anew, 16)
{
	name_process(r, "first", AFTER(0));
	describe_process(r);
	value(r, AFTER(1), SYSCALLS, 90);
	live_end_period(r->live);
	name_process(r, "first", 0); /* unknown: the start of before stays */
	name_process(r, "second", AFTER(1));
	value(r, AFTER(2), SYSCALLS, 100);
	live_end_period(r->live);
	assert_string_equal(process(r)->name, "second");
	check_rate(r, LIVE_SYSCALLS, 100, 100);
}

LIVE_TEST(a_process_that_ended_has_rate_0_and_is_forgotten, 16)
{
	poll_first(r, "CPU time");
	describe_process(r);
	value(r, AFTER(1), CPU_TIME, 100);
	live_end_period(r->live);
	describe(r, EBPF, 0, NULL, 7);
	describe(r, GROUP, EBPF, "CPU time", 0);
	value(r, AFTER(2), GROUP, 1);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 0, 100);
	value(r, AFTER(5), GROUP, 1);
	live_end_period(r->live);
	assert_null(process(r));
}

LIVE_TEST(a_process_that_a_late_poll_meets_keeps_its_name, 16)
{
	name_process(r, "name", BEGAN);
	describe(r, EBPF, 0, NULL, 7);
	describe(r, GROUP, EBPF, "CPU time", 0);
	poll_memory(r, AFTER(1), 1);
	value(r, AFTER(9), GROUP, 1);
	live_end_period(r->live);
	poll_memory(r, AFTER(10), PID);
	live_end_period(r->live);
	assert_non_null(process(r));
	assert_string_equal(process(r)->name, "name");
}

LIVE_TEST(a_process_that_several_polls_do_not_meet_is_forgotten, 16)
{
	name_process(r, "name", BEGAN);
	poll_memory(r, AFTER(1), PID);
	for (unsigned second = 1; second < 6; second++)
		poll_memory(r, AFTER(second), 1);
	live_end_period(r->live);
	poll_memory(r, AFTER(6), PID);
	live_end_period(r->live);
	assert_non_null(process(r));
	assert_string_equal(process(r)->name, "");
}

LIVE_TEST(a_counter_below_a_group_of_the_process_is_not_one_of_its_own, 16)
{
	poll_first(r, "CPU time");
	describe_process(r);
	describe(r, GROUP, PROCESS, "syscalls by name", 0);
	describe(r, BY_NAME, GROUP, "syscalls", 0);
	value(r, AFTER(1), BY_NAME, 50);
	value(r, AFTER(1), SYSCALLS, 8);
	live_end_period(r->live);
	check_rate(r, LIVE_SYSCALLS, 8, 8);
}

LIVE_TEST(a_process_without_a_counter_of_calls_made_none, 16)
{
	describe_process(r);
	value(r, AFTER(1), CPU_TIME, 50);
	live_end_period(r->live);
	assert_false(process(r)
			     ->values[LIVE_SYSCALLS]
			     .has_rate); /* nor is it known that they are counted */
	describe(r, EBPF, 0, NULL, 7);
	describe(r, GROUP, EBPF, "syscalls", 0);
	value(r, AFTER(2), GROUP, 1);
	value(r, AFTER(2), CPU_TIME, 60);
	live_end_period(r->live);
	check_rate(r, LIVE_SYSCALLS, 0, 0);
}

LIVE_TEST(several_values_in_one_packet, 16)
{
	struct pb_enc *e;

	poll_first(r, "CPU time");
	describe_process(r);
	e = begin(r, AFTER(1));
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, CPU_TIME);
	pb_enc_i64(e, PB_TRACK_EVENT_COUNTER_VALUE, 5);
	pb_enc_u64(e, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, SYSCALLS);
	pb_enc_i64(e, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, 7);
	pb_enc_close(e);
	take(r);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 5, 5);
	check_rate(r, LIVE_SYSCALLS, 7, 7);
}

LIVE_TEST(the_longest_latency_of_the_cpus, 16)
{
	const struct live_machine *m;

	describe(r, GROUP, 0, "eBPF counters", 0);
	describe(r, CPU3, GROUP, "CPU 3", 0);
	describe(r, P99, CPU3, "runq latency p99", 0);
	value(r, AFTER(1), P99, 4711);
	assert_true(live_end_period(r->live));
	m = live_machine(r->live);
	assert_true(m->has_runq);
	assert_int_equal(m->runq_p99_cpu, 3);
	assert_float_equal(m->runq_p99_ns, 4711, 0);
}

/* sonda top -p PID: a process that does not run makes no row. */
TEST(chosen_processes_may_all_be_idle)
{
	const struct live_setup setup = {
		.began_ns = BEGAN, .period_ns = NS_PER_S, .top_n = 16, .only_some = true};
	struct rig r;

	assert_int_equal(live_new(&setup, &r.live), 0);
	assert_int_equal(pb_mem_init(&r.packet), 0);
	assert_false(live_knows_processes(r.live)); /* programs are not loaded yet */
	describe(&r, GROUP, 0, "eBPF counters", 0);
	describe(&r, CPU3, GROUP, "CPU 3", 0);
	describe(&r, P99, CPU3, "runq latency p99", 0);
	value(&r, AFTER(1), P99, 4711);
	assert_true(live_knows_processes(r.live));
	tear_down(&r);
}

LIVE_TEST(every_loss_is_counted, 16)
{
	const struct live_losses *l;
	struct pb_enc *e;

	describe(r, GROUP, 0, "eBPF counters", 0);
	describe(r, LOST, GROUP, "cpu_time lost", 0);
	value(r, AFTER(1), LOST, 3);
	value(r, AFTER(1), 999, 3); /* of a process that has ended */
	e = begin(r, AFTER(1));
	pb_enc_u64(e, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, 64);
	pb_enc_open(e, PB_TRACE_PACKET_PROCESS_STATS);
	pb_enc_close(e);
	take(r);
	value(r, AFTER(1), 998, 3); /* its description was in a packet that is missing */
	live_add_packet(r->live, (const uint8_t *)"\xff", 1);
	live_end_period(r->live);
	l = live_losses(r->live);
	assert_int_equal(l->unknown_values, 1);
	assert_int_equal(l->packets, 1);
	assert_int_equal(l->bad_packets, 1);
	assert_string_equal(l->counters.s, "cpu_time lost 3");
}

LIVE_TEST(a_family_that_does_not_run_is_reported, 16)
{
	struct pb_enc *e;

	e = begin(r, BEGAN);
	pb_enc_open(e, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
	pb_enc_open(e, PB_EBPF_COUNTERS_STATS_FAILURES);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, "cpu_time");
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, "no permission");
	pb_enc_close(e);
	pb_enc_close(e);
	take(r);
	take(r);
	assert_true(live_lacks_cpu_time(r->live));
	assert_string_equal(live_failures(r->live), "cpu_time: no permission\n");
}

LIVE_TEST(the_time_of_the_cpus, 16)
{
	static const uint64_t busy[] = {0, 30, 40}, idle[] = {0, 70, 160};

	for (unsigned i = 0; i < 3; i++) {
		struct pb_enc *e = begin(r, AFTER(i + 1));

		pb_enc_open(e, PB_TRACE_PACKET_SYS_STATS);
		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			pb_enc_open(e, PB_SYS_STATS_CPU_STAT);
			pb_enc_u64(e, PB_SYS_STATS_CPU_TIMES_CPU_ID, cpu);
			pb_enc_u64(e, PB_SYS_STATS_CPU_TIMES_USER_NS, 1000 + busy[i]);
			pb_enc_u64(e, PB_SYS_STATS_CPU_TIMES_IDLE_NS, 1000 + idle[i]);
			pb_enc_close(e);
		}
		pb_enc_close(e);
		take(r);
		assert_true(live_end_period(r->live));
		assert_int_equal(live_machine(r->live)->has_cpu, i > 0);
	}
	assert_int_equal(live_machine(r->live)->cpus, 2);
	assert_float_equal(live_machine(r->live)->user, 0.1, 1e-9);
	assert_float_equal(live_machine(r->live)->idle, 0.9, 1e-9);
}

/* ---- rows ---- */

static void rows(struct rig *r, uint64_t ns, const char *family, unsigned columns, size_t n,
		 const uint64_t *numbers)
{
	struct pb_enc *e = begin(r, ns);
	uint8_t bytes[256];
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len = (size_t)(pb_put_varint(bytes + len, numbers[i]) - bytes);
	pb_enc_open(e, PB_TRACE_PACKET_EBPF_PROCESS_ROWS);
	pb_enc_str(e, PB_EBPF_PROCESS_ROWS_FAMILY, family);
	pb_enc_u64(e, PB_EBPF_PROCESS_ROWS_COLUMNS, columns);
	pb_enc_bytes(e, PB_EBPF_PROCESS_ROWS_ROWS, bytes, len);
	pb_enc_close(e);
	take(r);
}
#define ROWS(r, ns, family, columns, ...)                                                          \
	rows(r, ns, family, columns, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),         \
	     (uint64_t[]){__VA_ARGS__})

static void name_in_rows(struct rig *r, uint64_t ns, const char *name)
{
	struct pb_enc *e = begin(r, ns);

	pb_enc_open(e, PB_TRACE_PACKET_EBPF_PROCESS_ROWS);
	pb_enc_str(e, PB_EBPF_PROCESS_ROWS_FAMILY, "processes");
	pb_enc_u64(e, PB_EBPF_PROCESS_ROWS_COLUMNS, 4);
	pb_enc_open(e, PB_EBPF_PROCESS_ROWS_PROCESSES);
	pb_enc_u64(e, PB_EBPF_PROCESS_ROWS_PROCESS_PID, PID);
	pb_enc_str(e, PB_EBPF_PROCESS_ROWS_PROCESS_NAME, name);
	pb_enc_close(e);
	pb_enc_close(e);
	take(r);
}

LIVE_TEST(rows_of_families_are_rates_of_processes, 1)
{
	ROWS(r, BEGAN, "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	ROWS(r, BEGAN, "syscalls", 3, 7, 0, 0, 0);
	live_end_period(r->live);
	ROWS(r, AFTER(1), "cpu_time", 5, PID, 100, 0, 900, 0, 0, 7, 1, 1, 1, 1, 1);
	ROWS(r, AFTER(1), "syscalls", 3, PID, 10, 500, 1);
	assert_false(live_knows_processes(r->live));
	ROWS(r, AFTER(1), "processes", 4, PID, 5, 4096, 1000, 2000);
	assert_true(live_knows_processes(r->live));
	name_in_rows(r, AFTER(1), "cat");
	assert_true(live_end_period(r->live));
	check_rate(r, LIVE_CPU, 100, 100);
	check_rate(r, LIVE_SLEEP, 900, 900);
	check_rate(r, LIVE_SYSCALLS, 10, 10);
	assert_string_equal(process(r)->name, "cat");
	assert_int_equal(process(r)->rss, 4096);
	/* What it read before the session is not counted. */
	assert_int_equal(process(r)->values[LIVE_READ].total, 0);
	ROWS(r, AFTER(2), "cpu_time", 5, PID, 150, 50, 900, 0, 0);
	ROWS(r, AFTER(2), "processes", 4, PID, 5, 8192, 1500, 2000);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 50, 150);
	check_rate(r, LIVE_RUNQ, 50, 50);
	check_rate(r, LIVE_SYSCALLS, 10, 10); /* the family was not read in this period */
	check_rate(r, LIVE_READ, 500, 500);
	check_rate(r, LIVE_WRITTEN, 0, 0);
}

LIVE_TEST(a_process_that_stopped_between_two_polls_has_the_rate_of_both, 1)
{
	ROWS(r, BEGAN, "cpu_time", 5, PID, 0, 0, 0, 0, 0);
	live_end_period(r->live);
	ROWS(r, AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(r, AFTER(2), "cpu_time", 5, 7, 100, 0, 0, 0, 0);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 50, 100);
	/* A short period: it did nothing. */
	ROWS(r, AFTER(2) + 1000, "cpu_time", 5, 7, 200, 0, 0, 0, 0);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 0, 100);
}

LIVE_TEST(rows_that_arrive_after_the_screen_of_their_poll_do_not_raise_the_next, 1)
{
	ROWS(r, BEGAN, "cpu_time", 5, PID, 0, 0, 0, 0, 0);
	live_end_period(r->live);
	ROWS(r, AFTER(1), "cpu_time", 5, 7, 100, 0, 0, 0, 0);
	live_end_period(r->live);
	ROWS(r, AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(r, AFTER(2), "cpu_time", 5, PID, 130, 0, 0, 0, 0);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 30, 130);
}

LIVE_TEST(a_screen_without_new_values_of_processes_is_stale, 1)
{
	uint64_t at;

	ROWS(r, BEGAN, "cpu_time", 5, PID, 0, 0, 0, 0, 0);
	live_end_period(r->live);
	assert_false(live_is_stale(r->live, &at));
	ROWS(r, AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	live_end_period(r->live);
	assert_false(live_is_stale(r->live, &at));
	/* Another source goes on. */
	ROWS(r, AFTER(2), "syscalls", 3, PID, 10, 500, 1);
	assert_true(live_end_period(r->live));
	assert_true(live_is_stale(r->live, &at));
	assert_int_equal(at, AFTER(1));
	ROWS(r, AFTER(3), "cpu_time", 5, PID, 200, 0, 0, 0, 0);
	live_end_period(r->live);
	assert_false(live_is_stale(r->live, &at));
}

LIVE_TEST(a_process_that_no_list_has_is_shown_while_it_counts, 1)
{
	ROWS(r, BEGAN, "cpu_time", 5, 7, 0, 0, 0, 0, 0);
	live_end_period(r->live);
	ROWS(r, AFTER(1), "cpu_time", 5, PID, 100, 0, 0, 0, 0);
	ROWS(r, AFTER(1), "processes", 4, 7, 5, 4096, 0, 0);
	live_end_period(r->live);
	check_rate(r, LIVE_CPU, 100, 100);
	ROWS(r, AFTER(2), "cpu_time", 5, 7, 1, 0, 0, 0, 0);
	ROWS(r, AFTER(2), "processes", 4, 7, 5, 4096, 0, 0);
	live_end_period(r->live);
	assert_null(process(r));
}

LIVE_TEST(another_process_with_the_pid_counts_from_its_own_start, 1)
{
	ROWS(r, AFTER(1), "processes", 4, PID, 5, 4096, 1000, 0);
	live_end_period(r->live);
	ROWS(r, AFTER(2), "processes", 4, PID, AFTER(1), 4096, 300, 0);
	live_end_period(r->live);
	check_rate(r, LIVE_READ, 300, 300);
}

LIVE_TEST(bad_rows_are_counted, 1)
{
	const struct live_losses *lost;

	lost = live_losses(r->live);
	ROWS(r, AFTER(1), "processes", 4, PID, 5, 4096, 1000, 0, 8);
	assert_int_equal(lost->bad_packets, 1);
	ROWS(r, AFTER(1), "processes", 3, PID, 5, 4096, 1000);
	ROWS(r, AFTER(1), "processes", 1000, PID, 5, 4096, 1000);
	assert_int_equal(lost->bad_packets, 3);
	ROWS(r, AFTER(1), "processes", 4, 0, 5, 4096, 1000, 0, 1ull << 40, 5, 4096, 1000, 0);
	ROWS(r, AFTER(1), "a family of another version", 9, PID, 5);
	assert_int_equal(lost->bad_packets, 3);
}

LIVE_TEST(a_kernel_without_the_list_of_processes, 1)
{
	struct pb_enc *e;

	assert_false(live_lacks_processes(r->live));
	e = begin(r, BEGAN);
	pb_enc_open(e, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
	pb_enc_open(e, PB_EBPF_COUNTERS_STATS_FAILURES);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, "processes");
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, "the kernel has none");
	pb_enc_close(e);
	pb_enc_close(e);
	take(r);
	assert_true(live_lacks_processes(r->live));
	assert_string_equal(live_failures(r->live), "");
}
