/* SPDX-License-Identifier: Apache-2.0 */
/* What data sources report of themselves. */
#include "unit/analyze/scan_rig.h"

FIXTURE_TEST(files_of_processes_that_cannot_be_read_are_named_once)
{
	for (int i = 0; i < 2; i++)
		scan("process_stats { unread_files { name: 'io' error: %d count: %d } "
		     "unread_files { name: 'smaps_rollup' error: %d count: 0 } }",
		     EACCES, 12 + i, ENOENT); /* the kernel has no smaps_rollup */
	assert_int_equal(s.bad_packets, 0);
	assert_string_equal(names_of(&s.sources.unread),
			    "/proc/PID/io of some processes: Permission denied|"
			    "/proc/PID/smaps_rollup: No such file or directory");
}

FIXTURE_TEST(files_of_the_machine_that_cannot_be_read_are_named)
{
	scan("sys_stats { read_failures { path: '/proc/vmstat' error: %d } "
	     "read_failures { path: '%0999d' error: %d } }",
	     EBADMSG, 0, EBADMSG);
	assert_int_equal(s.sources.unread.n, 2);
	assert_string_equal(s.sources.unread.names[0],
			    "/proc/vmstat: part of the file has an unknown format");
	assert_non_null(strstr(s.sources.unread.names[1], "0: part of the file has an"));
}

FIXTURE_TEST(families_that_do_not_count_are_named_and_costs_are_added_up)
{
	for (int i = 0; i < 2; i++)
		scan("ebpf_counters_stats { failures { what: 'runq' reason: 'no BTF\\x1b' } "
		     "failures { } "
		     "costs { family: 'runq' machine_ppm: 2120 } }");
	assert_int_equal(s.bad_packets, 0);
	assert_string_equal(names_of(&s.sources.uncounted), "runq: no BTF?|: ");
	assert_string_equal(names_of(&s.sources.ebpf_costs), "runq 0.212 %");
	assert_int_equal(s.sources.ebpf_ppm, 2 * 2120);
}

/* The packets of the journal have the sum so far, those of linux.perf what was lost since the last. */
FIXTURE_TEST(dropped_records_are_summed_as_their_source_counts_them)
{
	static const unsigned so_far[] = {5, 10331, 10331};

	for (int i = 0; i < 3; i++)
		scan("journald_event { num_dropped: %u }", so_far[i]);
	assert_int_equal(s.sources.journal_dropped, 10331);
	scan("perf_sample { kernel_records_lost: 5 }");
	scan("perf_sample { callstack_iid: 1 }");
	scan("perf_sample { kernel_records_lost: 10 }");
	assert_int_equal(s.sources.perf_dropped, 15);
	assert_int_equal(s.samples.of[SAMPLES_STACKS], 1);
}

FIXTURE_TEST(refused_tracks_of_processes_are_reported)
{
	scan("process_stats { unread_files { name: 'io' error: %d count: 1 } refused_tracks: 12 }",
	     EACCES);
	assert_int_equal(s.sources.refused_tracks, 12);
	assert_int_equal(s.sources.unread.n, 1);
}

#define POLLED "polled_counters_stats { %s refused_tracks: %u source: '%s' }"

FIXTURE_TEST(polled_sources_report_files_and_refused_tracks)
{
	char file[128];

	snprintf(file, sizeof(file), "read_failures { path: 'a/cpu.stat' error: %d }", EACCES);
	scan(POLLED, file, 0, "linux.cgroup_stats");
	assert_int_equal(s.sources.n_refused, 0);
	scan(POLLED, file, 7, "linux.cgroup_stats");
	scan(POLLED, file, 5, "linux.cgroup_stats");
	scan(POLLED, "", 3, "linux.network_stats");
	assert_int_equal(s.bad_packets, 0);
	assert_string_equal(names_of(&s.sources.unread),
			    "linux.cgroup_stats: a/cpu.stat: Permission denied");
	assert_int_equal(s.sources.n_refused, 2);
	assert_string_equal(s.sources.refused[0].source, "linux.cgroup_stats");
	assert_int_equal(s.sources.refused[0].tracks, 7);
	assert_int_equal(s.sources.refused[1].tracks, 3);
}

FIXTURE_TEST(polled_sources_past_the_limit_are_not_kept)
{
	char name[200];

	for (unsigned i = 0; i < 2 * SOURCE_SCAN_SOURCES; i++) {
		snprintf(name, sizeof(name), "%c%0150u", i ? 'a' + i : '\033', 0);
		scan(POLLED, "", i + 1, name);
	}
	assert_int_equal(s.sources.n_refused, SOURCE_SCAN_SOURCES);
	assert_int_equal(s.sources.refused[0].source[0], '?');
	assert_int_equal(strlen(s.sources.refused[0].source),
			 sizeof(s.sources.refused[0].source) - 1);
}

FIXTURE_TEST(an_invalid_report_is_counted)
{
	scan("sys_stats { read_failures: '\\x10\\x80' }");
	assert_int_equal(s.bad_packets, 1);
	assert_int_equal(s.sources.unread.n, 0);
}

/* "runq slices left out": reported repeatedly; the summary has it once, with its last number. */
FIXTURE_TEST(a_counted_failure_is_kept_once_with_its_last_number)
{
	static const struct {
		const char *what;
		int count;
	} rows[] = {{"runq", 3}, {"block", 4}, {"runq", 1234}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		scan("ebpf_counters_stats { failures { what: '%s' reason: 'outliers without a "
		     "slice' count: %d } }",
		     rows[i].what, rows[i].count);
	assert_int_equal(s.sources.uncounted.n, 0);
	assert_int_equal(s.sources.n_counted, 2);
	assert_string_equal(s.sources.counted[0].family, "runq");
	assert_string_equal(s.sources.counted[0].what, "outliers without a slice");
	assert_int_equal(s.sources.counted[0].n, 1234);
	assert_false(s.sources.counted[0].is_limit);
}

FIXTURE_TEST(what_a_limit_left_out_is_marked)
{
	scan("ebpf_counters_stats { failures { what: 'runq' reason: 'outliers' count: 3 "
	     "is_limit: 1 } }");
	assert_int_equal(s.sources.n_counted, 1);
	assert_true(s.sources.counted[0].is_limit);
}

FIXTURE_TEST(losses_and_cost_of_waits_are_kept)
{
	scan("waits_stats { waits: 1000 left_out: 7 stacks_lost: 2 user_stacks_refused: 300 "
	     "machine_ppm: 1230 error: 'ended early' }");
	assert_int_equal(s.sources.n_counted, 3);
	assert_string_equal(s.sources.counted[0].family, "waits");
	assert_int_equal(s.sources.counted[0].n, 7);
	assert_true(s.sources.counted[0].is_limit);
	assert_int_equal(s.sources.counted[1].n, 300);
	assert_true(s.sources.counted[1].is_limit);
	assert_int_equal(s.sources.counted[2].n, 2);
	assert_false(s.sources.counted[2].is_limit);
	assert_string_equal(names_of(&s.sources.ebpf_costs), "waits 0.123 %");
	assert_string_equal(names_of(&s.sources.uncounted), "waits: ended early");
}

FIXTURE_TEST(limits_of_the_tables_for_user_stacks_are_those_of_the_last_packet)
{
	scan("unwind_stats { files: 3 evicted: 1 }");
	scan("unwind_stats { files: 9 rows: 100 evicted: 5 refused: 6 files_left_out: 7 "
	     "files_cut: 8 }");
	assert_int_equal(s.sources.unwind.evicted, 5);
	assert_int_equal(s.sources.unwind.refused, 6);
	assert_int_equal(s.sources.unwind.left_out, 7);
	assert_int_equal(s.sources.unwind.cut, 8);
}

FIXTURE_TEST(waits_that_were_refused_are_a_refusal)
{
	scan("waits_stats { error: 'no BTF' }");
	assert_string_equal(names_of(&s.sources.refusals),
			    "'linux.waits' recorded nothing: no BTF");
}

FIXTURE_TEST(sources_that_record_nothing_are_named_once)
{
	scan("source_refusal { name: 'linux.perf' reason: 'too many' }");
	scan("source_refusal { name: 'linux.perf' reason: 'too many' }");
	scan("source_refusal { name: 'x\\x0ay' reason: 'too many' }");
	assert_string_equal(
		names_of(&s.sources.refusals),
		"'linux.perf' recorded nothing: too many|'x?y' recorded nothing: too many");
}
