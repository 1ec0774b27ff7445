/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/trace_scan.c"
#include "cli/report/data_losses.h"
#include "unit/cli/facts.h"
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

static void check(size_t n, const char *expected)
{
	struct strbuf lines = {0};
	struct losses losses = {0};

	losses_collect(&x.f, &losses);
	losses_write(&losses, &lines);
	assert_string_equal(lines.s ? lines.s : "", expected);
	assert_int_equal(losses.n, n);
	strbuf_deinit(&lines);
	losses_deinit(&losses);
}

FIXTURE_TEST(test_nothing_lost)
{
	check(0, "");
	facts_ring(&x, 0, 0);
	check(0, "");
	x.f.stats = NULL;
	x.f.before = NULL;
	check(0, "");
}

FIXTURE_TEST(test_a_producer_that_went_away)
{
	name_list_add(&x.gone, (const uint8_t *)"probes (pid 7)", 14);
	check(1, "probes (pid 7) disconnected: uncommitted data and everything later is missing\n");
}

/* sondad says when, and of which data sources. */
FIXTURE_TEST(test_a_producer_that_went_away_at_a_known_time)
{
	struct departure_stats *d = x.stats.departures;

	x.scan.started_ns = 10000000000;
	d[0] = (struct departure_stats){.source = "linux.ftrace",
					.producer = "probes",
					.pid = 7,
					.gone_ns = 12500000000,
					.times = 1};
	d[1] = d[0];
	strcpy(d[1].source, "linux.process_stats");
	d[1].gone_ns++;
	d[2] = d[0];
	strcpy(d[2].source, "track_event"); /* programs come and go */
	x.stats.n_departures = 3;
	check(1, "probes (pid 7) disconnected 2.5 s after the start: uncommitted data is missing, "
		 "and everything later, of linux.ftrace, linux.process_stats\n");
	d[0].back_ns = 14000000000;
	d[0].times = 2;
	x.stats.n_departures = 1;
	check(1,
	      "probes (pid 7) disconnected 2.5 s after the start, the last of 2 times: uncommitted "
	      "data is missing, and 1.5 s until another producer replaced it, of "
	      "linux.ftrace\n");
}

FIXTURE_TEST(test_lines_of_the_journal)
{
	x.scan.sources.journal_dropped = 10331;
	x.scan.sources.journal_failed = 2;
	check(2, "journal: 10,331 lines dropped: they arrived faster than they were recorded\n"
		 "journal: 2 lines could not be read\n");
}

FIXTURE_TEST(test_records_of_call_stacks)
{
	facts_deinit(&x);
	facts_init(&x, "data_sources { config { name: 'linux.perf' perf_event_config { "
		       "timebase { frequency: 999 } } } }");
	x.scan.sources.perf_dropped = 1234;
	x.f.from_words = false;
	check(1, "rings of call stacks: 1,234 records dropped: they were full; "
		 "try ring_buffer_pages: 1024 in perf_event_config, or a lower frequency\n");
	x.f.from_words = true;
	check(1, "rings of call stacks: 1,234 records dropped: they were full; "
		 "try --cpu-stacks=499\n");
}

FIXTURE_TEST(test_what_ebpf_programs_counted_as_lost)
{
	struct source_counted *c = x.scan.sources.counted;

	c[0] = (struct source_counted){"runq", "outliers that have no slice", 1234};
	c[1] = (struct source_counted){"block", "requests of devices", 1};
	x.scan.sources.n_counted = 2;
	check(2, "runq: 1,234 outliers that have no slice\nblock: 1 requests of devices\n");
}

FIXTURE_TEST(test_counter_tracks_of_processes)
{
	x.scan.sources.refused_tracks = 4000;
	check(1, "processes: 4,000 counter tracks dropped: no room\n");
}

FIXTURE_TEST(test_counter_tracks_of_polled_sources)
{
	x.scan.sources.refused[0] =
		(struct source_refusals){.source = "linux.cgroup_stats", .tracks = 4000};
	x.scan.sources.refused[1] =
		(struct source_refusals){.source = "linux.network_stats", .tracks = 2};
	x.scan.sources.n_refused = 2;
	check(2, "linux.cgroup_stats: 4,000 counter tracks dropped: no room\n"
		 "linux.network_stats: 2 counter tracks dropped: no room\n");
}

/* ---- kernel rings ---- */

FIXTURE_TEST(test_rings_are_named_by_cpu_with_their_size)
{
	facts_ring(&x, 3, 12);
	facts_ring(&x, 2, 18112);
	facts_ring(&x, 1, 0);
	check(1,
	      "kernel rings: 18,124 events (cpu2 18,112, cpu3 12); try -B 1mb or fewer events\n");
	x.scan.ftrace.pages_per_cpu = (2u << 20) / (uint32_t)sysconf(_SC_PAGESIZE);
	check(1, "kernel rings: 18,124 events (cpu2 18,112, cpu3 12; ring 2 MiB a CPU); "
		 "try -B 8mb or fewer events\n");
	x.f.from_words = false;
	check(1, "kernel rings: 18,124 events (cpu2 18,112, cpu3 12; ring 2 MiB a CPU); "
		 "try buffer_size_kb: 8192 in ftrace_config, or fewer events\n");
}

FIXTURE_TEST(test_many_cpus_are_summed_up)
{
	for (uint32_t cpu = 0; cpu < 256; cpu++)
		facts_ring(&x, cpu, cpu == 200 ? 4000 : cpu == 7 ? 9000 : 10);
	check(1,
	      "kernel rings: 15,540 events (cpu7 9,000, cpu200 4,000, cpu0 10, cpu1 10, cpu2 10, "
	      "cpu3 10, cpu4 10, cpu5 10, 248 other CPUs 2,480); try -B 1mb or fewer events\n");
}

FIXTURE_TEST(test_without_counters_the_bundles_tell)
{
	x.scan.ftrace.bundles_after_loss = 3;
	check(1, "kernel rings: at least 3 events, in 3 places; try -B 1mb or fewer events\n");
	x.scan.ftrace.counted_losses = 5000;
	check(1, "kernel rings: at least 5,000 events, in 3 places; try -B 1mb or fewer events\n");
	/* The counters know better. */
	facts_ring(&x, 0, 0);
	check(0, "");
}

FIXTURE_TEST(test_pages_that_could_not_be_read)
{
	x.scan.ftrace.bad_pages = 2;
	check(1, "kernel rings: 2 sub-buffers that could not be parsed completely\n");
	x.scan.ftrace.statuses[15] = 2;
	x.scan.ftrace.reported_statuses = 1u << 15 | 1u << 2 | 1u << FTRACE_STATUS_OK;
	check(1, "kernel rings: 2 sub-buffers that could not be parsed completely: reading failed, "
		 "an event longer than its page (2)\n");
	x.scan.ftrace.bad_pages = 0;
	memset(x.scan.ftrace.statuses, 0, sizeof(x.scan.ftrace.statuses));
	x.scan.ftrace.reported_statuses = 1u << FTRACE_STATUSES;
	check(1, "kernel rings: sub-buffers that could not be parsed completely: a reason that "
		 "this version does not know\n");
	x.scan.ftrace.reported_statuses = 1u << FTRACE_STATUS_OK;
	check(0, "");
}

FIXTURE_TEST(test_probes_that_were_missed)
{
	static struct probe_loss probes[6];

	x.scan.ftrace.kprobe_misses = 1234;
	check(1, "probes: hit 1,234 times without recording an event: the kernel disables probes "
		 "in some "
		 "contexts\n");
	for (unsigned i = 0; i < 6; i++) {
		snprintf(probes[i].name, sizeof(probes[i].name), "g/p%u", i);
		probes[i].misses = 500 * (i % 4) + 500;
	}
	x.scan.ftrace.probes = probes;
	x.scan.ftrace.n_probes = 2;
	check(1, "probes: hit 1,500 times without recording an event (g/p1 1,000, g/p0 500): the "
		 "kernel "
		 "disables probes in some contexts\n");
	x.scan.ftrace.n_probes = 6;
	check(1, "probes: hit 6,500 times without recording an event (g/p3 2,000, g/p2 1,500, g/p1 "
		 "1,000, "
		 "g/p5 1,000, and 2 others): the kernel disables probes in some contexts\n");
	x.scan.ftrace.probes = NULL;
	x.scan.ftrace.n_probes = 0;
}

/* ---- shared memory ---- */

static void check_no_room(const char *what)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "shared memory: %s; try a config with producers { producer_name: \"...\" "
		 "shm_size_kb: ... }\n",
		 what);
	check(1, text);
}

FIXTURE_TEST(test_packets_that_found_no_room)
{
	/* Writers that do not say how many. */
	x.stats.buffers[0].writer_packet_loss = 4;
	check_no_room("4 packets or more dropped: no room");
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1 | 256, false);
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1 | 128 | 256, false);
	check_no_room("4 packets or more dropped: no room (written by pid 77)");
	x.stats.buffers[0].writer_packet_loss = 0;
	check_no_room("2 packets or more dropped: no room (written by pid 77)");
}

FIXTURE_TEST(dropped_packets_are_counted_not_their_gaps)
{
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1 | 128 | 256, false);
	sequence_table_add_dropped(&x.scan.sequences, 2, 1000);
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1 | 256, false);
	sequence_table_add_dropped(&x.scan.sequences, 2, 234);
	x.stats.buffers[0].writer_packet_loss = 1;
	check_no_room("1,234 packets dropped: no room (written by pid 77)");
	/* And one of a writer that says less. */
	sequence_table_add_packet(&x.scan.sequences, 3, 78, 1 | 256, false);
	check_no_room("1,235 packets or more dropped: no room (written by pid 78)");
	/* A number that no writer can have reached. */
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1 | 256, false);
	sequence_table_add_dropped(&x.scan.sequences, 2, UINT64_MAX);
	check_no_room(
		"9,223,372,036,854,775,808 packets or more dropped: no room (written by pid 78)");
}

FIXTURE_TEST(test_gaps_without_a_reason)
{
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 0, true);
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1, false);
	check(1, "gaps between packets, without a reason from the service: 1\n");
	/* What the buffer's counters explain is not told twice. */
	x.stats.buffers[0].bytes_overwritten = 1000;
	check(1, "central buffer (977 KiB): the oldest 1000 B were overwritten; try -b 1mb\n");
}

FIXTURE_TEST(test_chunks_that_made_no_sense)
{
	sequence_table_add_packet(&x.scan.sequences, 2, 77, 1 | 4, false);
	check(1, "shared memory: invalid chunks: 1\n");
}

/* ---- the central buffer ---- */

FIXTURE_TEST(test_what_a_ring_overwrote)
{
	x.stats.buffers[0].bytes_overwritten = 41200000;
	x.stats.buffers[0].bytes_written = 42200000;
	check(1, "central buffer (977 KiB): the oldest 39.3 MiB were overwritten; try -b 64mb\n");
	x.scan.started_ns = 1000000000;
	x.scan.ftrace.first_ns = 13400000000;
	check(1, "central buffer (977 KiB): the oldest 39.3 MiB were overwritten; the events begin "
		 "12.4 s after the start; try -b 64mb\n");
	x.f.from_words = false;
	check(1, "central buffer (977 KiB): the oldest 39.3 MiB were overwritten; the events begin "
		 "12.4 s after the start; try size_kb: 65536\n");
}

FIXTURE_TEST(test_what_a_full_buffer_discarded)
{
	x.stats.buffers[0].chunks_discarded = 1234;
	check(1, "central buffer (977 KiB): full, the newest 1,234 chunks were discarded; "
		 "try -b 2mb\n");
}

/* The size would have held all of it; and what is there ends long before the recording. */
FIXTURE_TEST(test_the_size_and_the_time_of_a_full_buffer)
{
	x.stats.buffers[0].chunks_written = 100; /* of 5,000 bytes */
	x.stats.buffers[0].chunks_discarded = 1234;
	x.scan.started_ns = 1000000000;
	x.scan.disabled_ns = 6000000000;
	x.scan.ftrace.first_ns = 1100000000;
	x.scan.ftrace.last_ns = 1400000000;
	check(1, "central buffer (977 KiB): full, the newest 1,234 chunks were discarded; the "
		 "events end 0.4 s after the start; try -b 8mb\n");
}

/* When the events begin is no matter of another buffer, nor of the time that the set-up took. */
FIXTURE_TEST(test_events_begin_late_in_their_own_buffer_only)
{
	facts_deinit(&x);
	facts_init(&x, "buffers { size_kb: 977 } buffers { name: 'names' size_kb: 64 }"
		       "data_sources { config { name: 'linux.ftrace' target_buffer_name: 'names' "
		       "ftrace_config { ftrace_events: 'sched/*' } } }");
	x.scan.started_ns = 1000000000;
	x.scan.all_started_ns = 1800000000;
	x.scan.ftrace.first_ns = 1850000000;
	x.stats.n_buffers = 2;
	x.stats.buffers[0].bytes_overwritten = 1024;
	x.stats.buffers[1] = x.stats.buffers[0];
	check(2,
	      "central buffer 0 (977 KiB): the oldest 1 KiB were overwritten; try -b 1mb\n"
	      "central buffer 'names' (977 KiB): the oldest 1 KiB were overwritten; try -b 1mb\n");
	x.scan.ftrace.first_ns = 2000000000;
	check(2, "central buffer 0 (977 KiB): the oldest 1 KiB were overwritten; try -b 1mb\n"
		 "central buffer 'names' (977 KiB): the oldest 1 KiB were overwritten; the events "
		 "begin 1.0 s after the start; try -b 1mb\n");
}

/* A patch for a chunk that was discarded or overwritten is no fault of the producer. */
FIXTURE_TEST(test_packets_that_lost_a_chunk)
{
	x.stats.buffers[0].chunks_discarded = 1234;
	x.stats.buffers[0].patches_failed = 2;
	check(2, "central buffer (977 KiB): full, the newest 1,234 chunks were discarded; "
		 "try -b 2mb\n"
		 "central buffer (977 KiB): 2 packets lack chunks that had no room\n");
}

FIXTURE_TEST(test_a_buffer_that_has_no_room_for_a_chunk)
{
	x.stats.buffers[0].size = 4096;
	x.stats.buffers[0].abi_violations = 18;
	x.stats.buffers[0].patches_failed = 2;
	check(1, "central buffer (4 KiB): too small for 18 chunks; try -b 1mb\n");
}

FIXTURE_TEST(test_buffers_are_told_apart)
{
	facts_deinit(&x);
	facts_init(&x, "buffers { size_kb: 1 } buffers { size_kb: 1 name: 'slow' }");
	x.stats.n_buffers = 3; /* one more than the config has */
	for (int i = 0; i < 3; i++) {
		x.stats.buffers[i].size = 100000;
		x.stats.buffers[i].patches_failed = 2;
		x.stats.buffers[i].abi_violations = 3;
	}
	check(3, "central buffer 0 (97.7 KiB): packets that violated the protocol: 5\n"
		 "central buffer 'slow' (97.7 KiB): packets that violated the protocol: 5\n"
		 "central buffer 2 (97.7 KiB): packets that violated the protocol: 5\n");
}

FIXTURE_TEST(test_counters_of_the_service_count_from_the_beginning)
{
	x.before.chunks_discarded = x.stats.chunks_discarded = 100;
	x.before.patches_discarded = x.stats.patches_discarded = 7;
	check(0, "");
	x.stats.chunks_discarded = 103;
	check(1, "service: refused during the recording, from this or another session: 3 chunks, 0 "
		 "patches\n");
	x.f.before = NULL;
	check(0, "");
	x.f.before = &x.before;
	x.stats.chunks_discarded = 5; /* another service than at the beginning? */
	check(0, "");
}

FIXTURE_TEST(test_packets_that_were_no_valid_ones)
{
	x.stats.invalid_packets = 2;
	check(1, "service: invalid packets: 2\n");
}

FIXTURE_TEST(test_packets_that_a_filter_could_not_read)
{
	x.stats.filter_errors = 3;
	check(1, "service: packets that the trace filter could not read: 3\n");
}

FIXTURE_TEST(test_a_final_flush_that_failed)
{
	static const char line[] =
		"the final flush did not finish: the newest events may be missing\n";

	x.stats.final_flush_failed = true;
	check(1, line);
	x.stats.final_flush_failed = false;
	x.f.flush_failed = true;
	check(1, line);
	/* The time was over meanwhile, and the service's own one counts. */
	x.stats.final_flush_succeeded = true;
	check(0, "");
}

FIXTURE_TEST(test_a_file_that_was_cut)
{
	x.f.file_is_cut = true;
	check(1, "file: the rest of the trace was not written\n");
}

/* An old service may not answer for its counters; the trace has a copy. */
FIXTURE_TEST(test_the_traces_own_counters_serve_as_well)
{
	x.scan.stats = x.stats;
	x.scan.has_stats = true;
	x.scan.stats.invalid_packets = 1;
	check(0, "");
	x.f.stats = NULL;
	check(1, "service: invalid packets: 1\n");
}
