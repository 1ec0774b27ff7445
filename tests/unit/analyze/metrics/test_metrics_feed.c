/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as the data sources write them, made by hand, and the series that follow from them. */
#include "analyze/metrics/metrics_feed.h"

#include <malloc.h>

#include "analyze/metrics/metrics_write.h"
#include "base/core/clock.h"
#include "unit/message_text.h"

#define AT(seconds) ((100 + (seconds)) * NS_PER_S)

static struct metrics_table *table;
static struct metrics_feed *feed;
static struct strbuf text;

static int set_up_with(uint32_t subjects, uint32_t series)
{
	const struct metrics_limits limits = {.subjects = subjects, .series = series};
	const struct metrics_setup setup = {
		.gone_ns = 150 * NS_PER_S, .choose_ns = 60 * NS_PER_S, .settle_ns = 3 * NS_PER_S};

	return metrics_table_new(&limits, &table) || metrics_feed_new(&setup, table, &feed);
}

static int set_up(void **state)
{
	return set_up_with(8, 10000);
}

static int tear_down(void **state)
{
	metrics_feed_free(feed);
	metrics_table_free(table);
	strbuf_deinit(&text);
	return 0;
}

#define FEED_TEST(name) TEST_WITH(name, set_up, tear_down)

/* A packet of that time with these fields. */
#define take(ns, ...)                                                                              \
	do {                                                                                       \
		struct pb_mem m;                                                                   \
		assert_int_equal(pb_mem_init(&m), 0);                                              \
		message_put(&m.enc, "TracePacket", "timestamp: %" PRIu64, (uint64_t)(ns));         \
		message_put(&m.enc, "TracePacket", __VA_ARGS__);                                   \
		metrics_feed_add(feed, m.buf, pb_mem_len(&m));                                     \
		pb_mem_deinit(&m);                                                                 \
	} while (0)

static void describe(uint64_t uuid, uint64_t parent, const char *fields)
{
	take(AT(0), "track_descriptor { uuid: %" PRIu64 " parent_uuid: %" PRIu64 " %s }", uuid,
	     parent, fields);
}

static void describe_top(uint64_t uuid, const char *name)
{
	take(AT(0), "track_descriptor { uuid: %" PRIu64 " name: '%s' }", uuid, name);
}

static void value(uint64_t ns, uint64_t uuid, uint64_t v)
{
	take(ns, "track_event { type: 4 track_uuid: %" PRIu64 " counter_value: %" PRIu64 " }", uuid,
	     v);
}

static const char *written(void)
{
	strbuf_clear(&text);
	metrics_write(table, METRICS_TEXT, &text);
	return text.s ? text.s : "";
}

static void has_line(const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(written(), whole))
		fail_msg("no line \"%s\" in:\n%s", line, written());
}

static void lacks(const char *what)
{
	if (strstr(written(), what))
		fail_msg("\"%s\" is in:\n%s", what, written());
}

/* Tracks of linux.ebpf_counters: two CPUs, a disk, the network. */
static void describe_machine(void)
{
	describe_top(1, "eBPF counters");
	describe(2, 1, "name: 'CPU 0'");
	describe(3, 1, "name: 'CPU 1'");
	describe(4, 2, "name: 'context switches' counter { }");
	describe(5, 3, "name: 'context switches' counter { }");
	describe(6, 2, "name: 'softirq NET_RX time' counter { }");
	describe(7, 1, "name: 'Block I/O'");
	describe(8, 7, "name: 'sda'");
	describe(9, 8, "name: 'read requests' counter { }");
	describe(10, 1, "name: 'page faults' counter { }");
	describe(11, 1, "name: 'major page faults' counter { }");
	describe(12, 1, "name: 'Network'");
	describe(13, 12, "name: 'dropped packets by reason'");
	describe(14, 13, "name: 'NO_SOCKET' counter { }");
}

static void describe_groups(void)
{
	describe_top(100, "cgroups");
	describe(101, 100, "name: 'web'");
	describe(102, 101, "name: 'cpu.stat user_usec' counter { }");
	describe(103, 101, "name: 'io.stat 8:0 rbytes' counter { }");
	describe(104, 101, "name: 'memory.current' counter { }");
	describe(105, 101, "name: 'cpu.stat usage_usec' counter { }");
}

/* Three seconds after their first packet the groups may be chosen. */
static void settle(void)
{
	take(AT(4), "track_event { type: 4 track_uuid: 9999 counter_value: 1 }");
	metrics_feed_end_period(feed, 0);
}

FEED_TEST(totals_of_all_cpus_are_one_series)
{
	describe_machine();
	value(AT(1), 4, 10);
	value(AT(1), 5, 5);
	value(AT(2), 4, 17);
	value(AT(2), 6, 1500000000);
	value(AT(2), 9, 3);
	value(AT(2), 14, 2);
	has_line("sonda_context_switches_total 22");
	has_line("sonda_softirq_seconds_total{vec=\"NET_RX\"} 1.500000000");
	has_line("sonda_block_requests_total{device=\"sda\",operation=\"read\"} 3");
	has_line("sonda_dropped_packets_total{reason=\"NO_SOCKET\"} 2");
}

FEED_TEST(totals_continue_over_sessions_and_restarts_of_a_producer)
{
	describe_machine();
	value(AT(1), 4, 10);
	metrics_feed_begin_session(feed);
	describe_machine();
	value(AT(2), 4, 3);
	has_line("sonda_context_switches_total 13");
	/* Another sequence: the producer was restarted, and has counted further than before. */
	take(AT(3), "trusted_packet_sequence_id: 7 track_descriptor { uuid: 4 parent_uuid: 2 name: "
		    "'context switches' counter { } }");
	value(AT(3), 4, 20);
	has_line("sonda_context_switches_total 33");
}

static void describe_reasons(void)
{
	char name[64];

	describe_machine();
	for (unsigned i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "name: 'REASON_%u' counter { }", i);
		describe(200 + i, 13, name);
		value(AT(1), 200 + i, 2);
	}
}

/* Also after a session that began anew: a reason that has a series keeps it. */
FEED_TEST(too_many_reasons_are_counted_together)
{
	describe_reasons();
	has_line("sonda_dropped_packets_total{reason=\"REASON_15\"} 2");
	has_line("sonda_dropped_packets_total{reason=\"other\"} 28");
	lacks("REASON_16");
	metrics_feed_begin_session(feed);
	describe_reasons();
	has_line("sonda_dropped_packets_total{reason=\"REASON_15\"} 4");
	has_line("sonda_dropped_packets_total{reason=\"other\"} 56");
}

FEED_TEST(minor_faults_exclude_major_ones)
{
	describe_machine();
	value(AT(1), 11, 4);
	value(AT(1), 10, 10);
	value(AT(2), 10, 12);
	value(AT(2), 11, 5);
	value(AT(3), 10, 13);
	has_line("sonda_page_faults_total{kind=\"major\"} 5");
	has_line("sonda_page_faults_total{kind=\"minor\"} 8");
}

FEED_TEST(a_histogram_has_its_values_in_both_forms)
{
	const struct metrics_histogram *h;
	uint64_t native = 0;

	/* 7 ns twice, and bucket 32 * 16 + 8, from 1.31 ms to 1.34 ms. */
	take(AT(1), "ebpf_histogram_rows { family: 'runq' sum_ns: 1320014 rows: [7 2 520 1] }");
	has_line("sonda_runq_latency_seconds_bucket{le=\"1e-06\"} 2");
	has_line("sonda_runq_latency_seconds_bucket{le=\"0.001024\"} 2");
	has_line("sonda_runq_latency_seconds_bucket{le=\"0.004096\"} 3");
	has_line("sonda_runq_latency_seconds_bucket{le=\"+Inf\"} 3");
	has_line("sonda_runq_latency_seconds_sum 0.001320014");
	has_line("sonda_runq_latency_seconds_count 3");
	h = TAILQ_FIRST(&table->of[METRIC_RUNQ_LATENCY])->histogram;
	for (size_t i = 0; i < METRICS_NATIVE; i++)
		native += h->native[i];
	assert_int_equal(native + h->zero, 3);
	/* Its middle is in (2^(-77/8), 2^(-76/8)] s. */
	assert_int_equal(h->native[-76 - METRICS_NATIVE_FIRST], 1);
}

FEED_TEST(histograms_of_disks_have_labels)
{
	take(AT(1), "ebpf_histogram_rows { family: 'block' device: 'sda' operation: 'write' "
		    "sum_ns: 5 rows: [5 1] }");
	has_line("sonda_block_latency_seconds_count{device=\"sda\",operation=\"write\"} 1");
}

FEED_TEST(a_control_group_has_the_totals_of_the_kernel)
{
	describe_groups();
	value(AT(1), 102, 2500000);
	value(AT(1), 103, 4096);
	value(AT(1), 104, 77);
	settle();
	value(AT(5), 102, 3500000);
	has_line("sonda_subject_cpu_seconds_total{id=\"/web\",mode=\"user\"} 3.500000000");
	has_line(
		"sonda_subject_io_bytes_total{id=\"/web\",device=\"8:0\",operation=\"read\"} 4096");
	has_line("sonda_subject_memory_bytes{id=\"/web\",type=\"current\"} 77");
	metrics_feed_begin_session(feed);
	describe_groups();
	value(AT(6), 102, 3600000);
	has_line("sonda_subject_cpu_seconds_total{id=\"/web\",mode=\"user\"} 3.600000000");
}

FEED_TEST(names_of_a_container_are_labels)
{
	describe_groups();
	take(AT(1), "cgroup_tree { groups { id: 9 path: '/web' container: 'abc' name: 'shop' "
		    "image: 'nginx' } }");
	value(AT(1), 104, 5);
	settle();
	has_line("sonda_subject_memory_bytes{id=\"/"
		 "web\",name=\"shop\",image=\"nginx\",container=\"abc\",type=\"current\"} 5");
	/* Later names do not change the labels: that would be another series. */
	take(AT(5), "cgroup_tree { groups { id: 9 path: '/web' name: 'renamed' } }");
	value(AT(5), 104, 6);
	lacks("renamed");
}

FEED_TEST(waits_of_a_control_group_are_counted_by_cause)
{
	describe_groups();
	take(AT(1), "cgroup_tree { groups { id: 9 path: '/web' } }");
	settle();
	/* 2 waits behind other groups, 1 for the quota. */
	take(AT(5), "cgroup_waits { rows: [9 0 3000 0 1 2 2 9 4 80000000 0 1 70 1] }");
	has_line("sonda_subject_runq_latency_seconds_count{id=\"/web\"} 2");
	has_line("sonda_subject_preemptions_total{id=\"/web\",by=\"other\"} 2");
	has_line(
		"sonda_subject_preempted_wait_seconds_total{id=\"/web\",by=\"other\"} 0.000003000");
	has_line("sonda_runq_throttled_seconds_count 1");
	has_line("sonda_runq_throttled_seconds_sum 0.080000000");
}

FEED_TEST(counters_of_processes_count_for_their_group)
{
	describe_groups();
	take(AT(1), "cgroup_tree { groups { id: 9 path: '/web' } }");
	/* The process 40 with a second thread, 41, whose group does not matter. */
	take(AT(1), "cgroup_members { group_ids: [9 7] tid_delta: [80 2] tgid_delta: [0 1] group: "
		    "[0 1] }");
	settle();
	take(AT(5), "ebpf_process_rows { family: 'syscalls' columns: 3 rows: [40 10 5000 1] }");
	take(AT(6), "ebpf_process_rows { family: 'syscalls' columns: 3 rows: [40 12 6000 1] }");
	take(AT(6),
	     "ebpf_process_rows { family: 'cpu_time' columns: 5 rows: [40 1 2000000000 3 4 0] }");
	has_line("sonda_subject_syscalls_total{id=\"/web\"} 12");
	has_line("sonda_subject_syscall_errors_total{id=\"/web\"} 1");
	has_line("sonda_subject_syscall_seconds_total{id=\"/web\"} 0.000006000");
	has_line("sonda_subject_off_cpu_seconds_total{id=\"/web\",state=\"runnable\"} 2.000000000");
	/* Another process got the pid. */
	take(AT(7), "ebpf_process_rows { family: 'syscalls' columns: 3 rows: [40 3 6000 1] }");
	has_line("sonda_subject_syscalls_total{id=\"/web\"} 15");
}

FEED_TEST(hostile_names_are_escaped)
{
	describe_top(100, "cgroups");
	describe(101, 100, "name: 'a\\x22b\\x5cc\\x0ad\\xff'");
	describe(104, 101, "name: 'pids.current' counter { }");
	value(AT(1), 104, 5);
	settle();
	/* Control characters and invalid UTF-8 are replaced, quotation marks escaped. */
	has_line("sonda_subject_tasks{id=\"/a\\\"b\\\\c?d?\"} 5");
}

static int set_up_few(void **state)
{
	return set_up_with(2, 10000);
}

static void group(unsigned i, uint64_t ns, uint64_t cpu_us)
{
	char name[64];

	snprintf(name, sizeof(name), "name: 'g%u'", i);
	describe(1000000 + i, 100, name);
	describe(2000000 + i, 1000000 + i, "name: 'cpu.stat usage_usec' counter { }");
	describe(3000000 + i, 1000000 + i, "name: 'cpu.stat user_usec' counter { }");
	value(ns, 2000000 + i, cpu_us);
	value(ns, 3000000 + i, cpu_us);
}

TEST_WITH(the_busiest_groups_have_series_the_others_are_one, set_up_few, tear_down)
{
	describe_top(100, "cgroups");
	for (unsigned i = 0; i < 5; i++)
		group(i, AT(1), 1000000);
	settle();
	for (unsigned i = 0; i < 5; i++)
		group(i, AT(70), 1000000 + i * 100000);
	metrics_feed_end_period(feed, 0);
	for (unsigned i = 0; i < 5; i++)
		group(i, AT(71), 1000000 + i * 200000);
	metrics_feed_end_period(feed, 0);
	has_line("sonda_subject_cpu_seconds_total{id=\"/g4\",mode=\"user\"} 1.800000000");
	has_line("sonda_subject_cpu_seconds_total{id=\"/g3\",mode=\"user\"} 1.600000000");
	lacks("id=\"/g2\"");
	if (!strstr(written(), "sonda_subject_cpu_seconds_total{id=\"other\",mode=\"user\"}"))
		fail_msg("no other in:\n%s", written());
}

FEED_TEST(a_group_that_is_gone_has_no_series)
{
	describe_groups();
	value(AT(1), 104, 5);
	settle();
	has_line("sonda_subject_memory_bytes{id=\"/web\",type=\"current\"} 5");
	take(AT(300), "track_event { type: 4 track_uuid: 9999 counter_value: 1 }");
	metrics_feed_end_period(feed, 0);
	lacks("/web");
	assert_int_equal(table->n_chosen, 0);
}

static int set_up_small(void **state)
{
	return set_up_with(8, 20);
}

TEST_WITH(the_limit_of_series_holds_and_is_counted, set_up_small, tear_down)
{
	char row[256];

	for (unsigned i = 0; i < 30; i++) {
		snprintf(row, sizeof(row),
			 "ebpf_histogram_rows { family: 'block' device: 'd%u' operation: 'read' "
			 "rows: [5 1] }",
			 i);
		take(AT(1), "%s", row);
	}
	assert_true(table->n_lines <= 20 + 1);
	has_line("sonda_series_left_out_total 29");
}

FEED_TEST(churn_of_groups_is_bounded)
{
	describe_top(100, "cgroups");
	for (unsigned i = 0; i < 3000; i++) {
		group(i, AT(i), 10);
		if (i % 10 == 0)
			metrics_feed_end_period(feed, 0);
	}
	metrics_feed_end_period(feed, 0);
	assert_true(HASH_COUNT(table->subjects) < 200);
	assert_true(table->n_lines < 200);
}

/* A thousand a minute, for 20 minutes. */
FEED_TEST(groups_that_come_and_go_do_not_fill_the_memory)
{
	size_t used = 0;

	describe_top(100, "cgroups");
	for (unsigned i = 0; i < 20000; i++) {
		group(i, AT(1) + i * UINT64_C(60000000), 10);
		if (i % 17 == 0)
			metrics_feed_end_period(feed, 0);
		if (i == 10000)
			used = mallinfo2().uordblks;
	}
	assert_true(table->n_lines < 1000);
	assert_true(mallinfo2().uordblks <= used + used / 20);
}

FEED_TEST(an_outlier_is_an_exemplar_that_names_the_trace)
{
	take(AT(0), "trace_uuid { msb: 1 lsb: 2 }");
	take(AT(1), "ebpf_histogram_rows { family: 'runq' sum_ns: 8 rows: [512 1] }");
	metrics_feed_end_period(feed, 5 * (int64_t)NS_PER_S);
	take(AT(1), "track_descriptor { uuid: 50 thread { pid: 7 tid: 8 } }");
	take(AT(1), "track_event { type: 1 track_uuid: 50 name: 'runq wait' }");
	take(AT(1) + 1048576, "track_event { type: 2 track_uuid: 50 }");
	strbuf_clear(&text);
	metrics_write(table, METRICS_OPENMETRICS, &text);
	assert_non_null(strstr(text.s,
			       "sonda_runq_latency_seconds_bucket{le=\"0.004096\"} 1 # "
			       "{trace_uuid=\"00000000-0000-0001-0000-000000000002\",tid=\"8\"} "
			       "0.001048576 106.001\n"));
	lacks("trace_uuid"); /* text 0.0.4 has no exemplars */
}

FEED_TEST(losses_are_counted)
{
	describe_machine();
	describe(30, 1, "name: 'runq lost' counter { }");
	value(AT(1), 30, 12);
	take(AT(2), "trusted_packet_sequence_id: 3 previous_packet_dropped: 1");
	metrics_feed_add(feed, (const uint8_t *)"\x0a\x7f", 2);
	has_line("sonda_lost_total{place=\"runq\"} 12");
	has_line("sonda_lost_total{place=\"packets\"} 1");
	has_line("sonda_lost_total{place=\"invalid packets\"} 1");
}

FEED_TEST(other_machines_are_not_counted)
{
	describe_machine();
	take(AT(1), "machine_id: 5 track_event { type: 4 track_uuid: 4 counter_value: 10 }");
	lacks("context_switches");
}

FEED_TEST(nanoseconds_beyond_the_doubles_are_exact)
{
	describe_groups();
	value(AT(1), 102, 9007199254741ull * 1000 + 1);
	settle();
	has_line("sonda_subject_cpu_seconds_total{id=\"/web\",mode=\"user\"} 9007199254.741001000");
}
