/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/trace_scan.h"
#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_mem.h"

static struct trace_scan s;

static int setup(void **state)
{
	s = (struct trace_scan){0};
	return 0;
}

static int teardown(void **state)
{
	trace_scan_deinit(&s);
	return 0;
}

static void unread(struct pb_enc *e, const char *name, int error, uint64_t count)
{
	pb_enc_open(e, PB_PROCESS_STATS_UNREAD_FILES);
	pb_enc_str(e, PB_PROCESS_STATS_UNREAD_FILE_NAME, name);
	pb_enc_i64(e, PB_PROCESS_STATS_UNREAD_FILE_ERROR, error);
	pb_enc_u64(e, PB_PROCESS_STATS_UNREAD_FILE_COUNT, count);
	pb_enc_close(e);
}

static void scan(struct pb_mem *m)
{
	trace_scan_packet(&s, m->buf, pb_mem_len(m));
	pb_mem_deinit(m);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_files_of_processes)
{
	struct pb_mem m;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		pb_enc_open(&m.enc, PB_TRACE_PACKET_PROCESS_STATS);
		unread(&m.enc, "io", EACCES, 12 + i);
		unread(&m.enc, "smaps_rollup", ENOENT, 0); /* the kernel has none */
		pb_enc_close(&m.enc);
		scan(&m);
	}
	assert_int_equal(s.bad_packets, 0);
	assert_int_equal(s.sources.unread.n, 2);
	assert_string_equal(s.sources.unread.names[0],
			    "/proc/PID/io of some processes: Permission denied");
	assert_string_equal(s.sources.unread.names[1],
			    "/proc/PID/smaps_rollup: No such file or directory");
}

FIXTURE_TEST(test_files_of_the_machine)
{
	char path[1000];
	struct pb_mem m;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_TRACE_PACKET_SYS_STATS);
	for (int i = 0; i < 2; i++) {
		pb_enc_open(&m.enc, PB_SYS_STATS_READ_FAILURES);
		pb_enc_str(&m.enc, PB_SYS_STATS_READ_FAILURE_PATH, i ? path : "/proc/vmstat");
		pb_enc_i64(&m.enc, PB_SYS_STATS_READ_FAILURE_ERROR, EBADMSG);
		pb_enc_close(&m.enc);
	}
	pb_enc_close(&m.enc);
	scan(&m);
	assert_int_equal(s.sources.unread.n, 2);
	assert_string_equal(s.sources.unread.names[0],
			    "/proc/vmstat: not all of it is in a format that is known");
	assert_non_null(strstr(s.sources.unread.names[1], "x: not all of it is in"));
}

FIXTURE_TEST(test_what_programs_do_not_count)
{
	struct pb_mem m;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		pb_enc_open(&m.enc, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
		pb_enc_open(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURES);
		pb_enc_str(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, "runq");
		pb_enc_str(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, "no BTF\033");
		pb_enc_close(&m.enc);
		pb_enc_open(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURES);
		pb_enc_close(&m.enc);
		pb_enc_open(&m.enc, PB_EBPF_COUNTERS_STATS_COSTS);
		pb_enc_str(&m.enc, PB_EBPF_COUNTERS_STATS_COST_FAMILY, "runq");
		pb_enc_u64(&m.enc, PB_EBPF_COUNTERS_STATS_COST_MACHINE_PPM, 2120);
		pb_enc_close(&m.enc);
		pb_enc_close(&m.enc);
		scan(&m);
	}
	assert_int_equal(s.bad_packets, 0);
	assert_int_equal(s.sources.uncounted.n, 2);
	assert_string_equal(s.sources.uncounted.names[0], "runq: no BTF?");
	assert_string_equal(s.sources.uncounted.names[1], ": ");
	assert_int_equal(s.sources.ebpf_costs.n, 1);
	assert_string_equal(s.sources.ebpf_costs.names[0], "runq 0.212 %");
	assert_int_equal(s.sources.ebpf_ppm, 2 * 2120);
}

/* Each packet says how many there were so far. */
FIXTURE_TEST(test_lines_of_the_journal)
{
	static const uint64_t so_far[] = {5, 10331, 10331};
	struct pb_mem m;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		pb_enc_open(&m.enc, PB_TRACE_PACKET_JOURNALD_EVENT);
		pb_enc_u64(&m.enc, PB_SYSTEMD_JOURNALD_EVENT_NUM_DROPPED, so_far[i]);
		pb_enc_close(&m.enc);
		scan(&m);
	}
	assert_int_equal(s.sources.journal_dropped, 10331);
}

/* Each packet says how many there were since the one before; samples say nothing. */
FIXTURE_TEST(test_records_of_perf)
{
	static const uint64_t lost[] = {5, 0, 10};
	struct pb_mem m;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		pb_enc_open(&m.enc, PB_TRACE_PACKET_PERF_SAMPLE);
		if (lost[i])
			pb_enc_u64(&m.enc, PB_PERF_SAMPLE_KERNEL_RECORDS_LOST, lost[i]);
		else
			pb_enc_u64(&m.enc, PB_PERF_SAMPLE_CALLSTACK_IID, 1);
		pb_enc_close(&m.enc);
		scan(&m);
	}
	assert_int_equal(s.sources.perf_dropped, 15);
	assert_int_equal(s.samples.of[SAMPLES_STACKS], 1);
}

FIXTURE_TEST(test_tracks_of_tasks)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_TRACE_PACKET_PROCESS_STATS);
	unread(&m.enc, "io", EACCES, 1);
	pb_enc_u64(&m.enc, PB_PROCESS_STATS_REFUSED_TRACKS, 12);
	pb_enc_close(&m.enc);
	scan(&m);
	assert_int_equal(s.sources.refused_tracks, 12);
	assert_int_equal(s.sources.unread.n, 1);
}

static void polled(const char *source, const char *path, uint64_t refused)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_TRACE_PACKET_POLLED_COUNTERS_STATS);
	if (path) {
		pb_enc_open(&m.enc, PB_POLLED_COUNTERS_STATS_READ_FAILURES);
		pb_enc_str(&m.enc, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH, path);
		pb_enc_i64(&m.enc, PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR, EACCES);
		pb_enc_close(&m.enc);
	}
	pb_enc_u64(&m.enc, PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS, refused);
	pb_enc_str(&m.enc, PB_POLLED_COUNTERS_STATS_SOURCE, source);
	pb_enc_close(&m.enc);
	scan(&m);
}

FIXTURE_TEST(test_polled_counters)
{
	polled("linux.cgroup_stats", "a/cpu.stat", 0);
	assert_int_equal(s.sources.n_refused, 0);
	polled("linux.cgroup_stats", "a/cpu.stat", 7);
	polled("linux.cgroup_stats", "a/cpu.stat", 5);
	polled("linux.network_stats", NULL, 3);
	assert_int_equal(s.bad_packets, 0);
	assert_int_equal(s.sources.unread.n, 1);
	assert_string_equal(s.sources.unread.names[0],
			    "linux.cgroup_stats: a/cpu.stat: Permission denied");
	assert_int_equal(s.sources.n_refused, 2);
	assert_string_equal(s.sources.refused[0].source, "linux.cgroup_stats");
	assert_int_equal(s.sources.refused[0].tracks, 7);
	assert_int_equal(s.sources.refused[1].tracks, 3);
}

FIXTURE_TEST(test_more_polled_sources_than_are_kept)
{
	char name[200];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (unsigned i = 0; i < 2 * SOURCE_SCAN_SOURCES; i++) {
		name[0] = i ? (char)('a' + i) : '\033';
		polled(name, NULL, i + 1);
	}
	assert_int_equal(s.sources.n_refused, SOURCE_SCAN_SOURCES);
	assert_int_equal(s.sources.refused[0].source[0], '?');
	assert_int_equal(strlen(s.sources.refused[0].source),
			 sizeof(s.sources.refused[0].source) - 1);
}

FIXTURE_TEST(test_broken_ones_are_counted)
{
	static const uint8_t half[] = {0x10, 0x80};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_TRACE_PACKET_SYS_STATS);
	pb_enc_bytes(&m.enc, PB_SYS_STATS_READ_FAILURES, half, sizeof(half));
	pb_enc_close(&m.enc);
	scan(&m);
	assert_int_equal(s.bad_packets, 1);
	assert_int_equal(s.sources.unread.n, 0);
}

static void scan_counted(const char *what, uint64_t count)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
	pb_enc_open(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURES);
	pb_enc_str(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, what);
	pb_enc_str(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, "outliers that have no slice");
	pb_enc_u64(&m.enc, PB_EBPF_COUNTERS_STATS_FAILURE_COUNT, count);
	pb_enc_close(&m.enc);
	pb_enc_close(&m.enc);
	scan(&m);
}

/* "runq slices left out": reported repeatedly; the summary has it once, with its last number. */
FIXTURE_TEST(test_what_is_counted_is_kept_once_with_its_number)
{
	scan_counted("runq", 3);
	scan_counted("block", 4);
	scan_counted("runq", 1234);
	assert_int_equal(s.sources.uncounted.n, 0);
	assert_int_equal(s.sources.n_counted, 2);
	assert_string_equal(s.sources.counted[0].family, "runq");
	assert_string_equal(s.sources.counted[0].what, "outliers that have no slice");
	assert_int_equal(s.sources.counted[0].n, 1234);
}

FIXTURE_TEST(test_sources_that_record_nothing)
{
	struct pb_mem m;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		pb_enc_open(&m.enc, PB_TRACE_PACKET_SOURCE_REFUSAL);
		pb_enc_str(&m.enc, PB_SOURCE_REFUSAL_NAME, i < 2 ? "linux.perf" : "x\ny");
		pb_enc_str(&m.enc, PB_SOURCE_REFUSAL_REASON, "too many");
		pb_enc_close(&m.enc);
		scan(&m);
	}
	assert_int_equal(s.sources.refusals.n, 2);
	assert_string_equal(s.sources.refusals.names[0], "'linux.perf' recorded nothing: too many");
	assert_null(strchr(s.sources.refusals.names[1], '\n'));
}
