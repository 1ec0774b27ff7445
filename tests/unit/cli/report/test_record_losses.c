/* SPDX-License-Identifier: Apache-2.0 */
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

#define OK_STATUS (1u << FTRACE_STATUS_OK)
#define BUFFER(size_, written, ...)                                                                \
	.stats = {.n_buffers = 1,                                                                  \
		  .buffers = {{.size = size_, .bytes_written = written, __VA_ARGS__}}}
#define CENTRAL "central buffer (977 KiB): "
#define OVERWRITTEN CENTRAL "the oldest 39.3 MiB were overwritten; "

/* Counters of the trace or of the service, and the lines of the report. */
FIXTURE_TEST(test_counters_become_lines)
{
	static const struct {
		const char *name;
		struct trace_scan scan;
		struct service_stats stats; /* without buffers: those of facts_init() */
		bool from_config, is_cut;
		const char *lines;
	} rows[] = {
		{"journal",
		 {.sources = {.journal_dropped = 10331, .journal_failed = 2}},
		 .lines = "journal: 10,331 lines dropped: they arrived faster than they were "
			  "recorded\njournal: 2 lines could not be read\n"},
		{"eBPF programs",
		 {.sources = {.counted = {{"runq", "outliers without a slice", 1234, false},
					  {"block", "requests of devices", 1, false},
					  {"waits", "more than a limit", 5, true}},
			      .n_counted = 3}},
		 .lines = "runq: 1,234 outliers without a slice\n"
			  "block: 1 requests of devices\n"},
		{"counter tracks of processes",
		 {.sources = {.refused_tracks = 4000}},
		 .lines = "processes: 4,000 counter tracks dropped: too many tracks\n"},
		{"counter tracks of polled sources",
		 {.sources = {.refused = {{.source = "linux.cgroup_stats", .tracks = 4000},
					  {.source = "linux.network_stats", .tracks = 2}},
			      .n_refused = 2}},
		 .lines = "linux.cgroup_stats: 4,000 counter tracks dropped: too many tracks\n"
			  "linux.network_stats: 2 counter tracks dropped: too many tracks\n"},
		{"bad pages",
		 {.ftrace = {.bad_pages = 2}},
		 .lines = "kernel rings: 2 sub-buffers that could not be parsed completely\n"},
		{"bad pages with their reasons",
		 {.ftrace = {.bad_pages = 2,
			     .statuses[15] = 2,
			     .reported_statuses = 1u << 15 | 1u << 2 | OK_STATUS}},
		 .lines = "kernel rings: 2 sub-buffers that could not be parsed completely: "
			  "reading failed, an event longer than its page (2)\n"},
		{"a reason of a later version",
		 {.ftrace = {.reported_statuses = 1u << FTRACE_STATUSES}},
		 .lines = "kernel rings: sub-buffers that could not be parsed completely: a "
			  "reason unknown to this version\n"},
		{"no reason", {.ftrace = {.reported_statuses = OK_STATUS}}, .lines = ""},
		{"an overwritten buffer", BUFFER(1000000, 42200000, .bytes_overwritten = 41200000),
		 .lines = OVERWRITTEN "try -b 64mb\n"},
		{"an overwritten buffer, and when its events begin",
		 {.started_ns = 1000000000, .ftrace = {.first_ns = 13400000000}},
		 BUFFER(1000000, 42200000, .bytes_overwritten = 41200000),
		 .from_config = true,
		 .lines = OVERWRITTEN "the events begin 12.4 s after the start; "
				      "try size_kb: 65536\n"},
		{"a full buffer", BUFFER(1000000, 500000, .chunks_discarded = 1234),
		 .lines = CENTRAL "full: discarded the newest 1,234 chunks; try -b 2mb\n"},
		/* The size would have held all chunks, of 5,000 bytes each. */
		{"a full buffer, and when its events end",
		 {.started_ns = 1000000000,
		  .disabled_ns = 6000000000,
		  .ftrace = {.first_ns = 1100000000, .last_ns = 1400000000}},
		 BUFFER(1000000, 500000, .chunks_written = 100, .chunks_discarded = 1234),
		 .lines = CENTRAL "full: discarded the newest 1,234 chunks; the events end "
				  "0.4 s after the start; try -b 8mb\n"},
		/* A patch for a chunk that was discarded is no fault of the producer. */
		{"packets without a chunk",
		 BUFFER(1000000, 500000, .chunks_discarded = 1234, .patches_failed = 2),
		 .lines = CENTRAL "full: discarded the newest 1,234 chunks; try -b 2mb\n" CENTRAL
				  "2 packets incomplete because chunks were discarded\n"},
		{"a buffer smaller than a chunk",
		 BUFFER(4096, 500000, .abi_violations = 18, .patches_failed = 2),
		 .lines = "central buffer (4 KiB): too small for 18 chunks; try -b 1mb\n"},
		{"invalid packets", .stats = {.invalid_packets = 2},
		 .lines = "service: invalid packets: 2\n"},
		{"packets that the filter cannot read", .stats = {.filter_errors = 3},
		 .lines = "service: packets that the trace filter could not read: 3\n"},
		{"a file that was cut", .is_cut = true,
		 .lines = "file: the rest of the trace was not written\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strbuf lines = {0};
		struct losses losses = {0};

		facts_deinit(&x);
		facts_init(&x, FACTS_FTRACE);
		x.scan = rows[i].scan;
		x.stats = rows[i].stats;
		x.f.from_words = !rows[i].from_config;
		x.f.file_is_cut = rows[i].is_cut;
		losses_collect(&x.f, &losses);
		losses_write(&losses, &lines);
		if (strcmp(lines.s ? lines.s : "", rows[i].lines))
			fail_msg("%s:\n%s", rows[i].name, lines.s);
		strbuf_deinit(&lines);
		losses_deinit(&losses);
	}
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
	check(1,
	      "probes (pid 7) disconnected 2.5 s after the start: uncommitted data and everything "
	      "later is missing from linux.ftrace, linux.process_stats\n");
	d[0].back_ns = 14000000000;
	d[0].times = 2;
	x.stats.n_departures = 1;
	check(1, "probes (pid 7) disconnected 2.5 s after the start (most recent of 2 "
		 "disconnections): uncommitted "
		 "data and the 1.5 s until another producer replaced it are missing from "
		 "linux.ftrace\n");
}

FIXTURE_TEST(test_records_of_call_stacks)
{
	facts_deinit(&x);
	facts_init(&x, "data_sources { config { name: 'linux.perf' perf_event_config { "
		       "timebase { frequency: 999 } } } }");
	x.scan.sources.perf_dropped = 1234;
	x.f.from_words = false;
	check(1, "rings of call stacks: 1,234 records dropped: the ring was full; "
		 "try ring_buffer_pages: 1024 in perf_event_config, or a lower frequency\n");
	x.f.from_words = true;
	check(1, "rings of call stacks: 1,234 records dropped: the ring was full; "
		 "try --cpu-stacks=499\n");
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

FIXTURE_TEST(test_probes_that_were_missed)
{
	static struct probe_counts probes[7]; /* the last one missed nothing */

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
	probes[6].hits = 10;
	x.scan.ftrace.n_probes = 7;
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
	check_no_room("4 packets or more dropped: the buffer was full");
	facts_packet(&x, 2, 77, 1 | 256, 0, false);
	facts_packet(&x, 2, 77, 1 | 128 | 256, 0, false);
	check_no_room("4 packets or more dropped: the buffer was full (written by pid 77)");
	x.stats.buffers[0].writer_packet_loss = 0;
	check_no_room("2 packets or more dropped: the buffer was full (written by pid 77)");
}

FIXTURE_TEST(dropped_packets_are_counted_not_their_gaps)
{
	facts_packet(&x, 2, 77, 1 | 128 | 256, 1000, false);
	facts_packet(&x, 2, 77, 1 | 256, 234, false);
	x.stats.buffers[0].writer_packet_loss = 1;
	check_no_room("1,234 packets dropped: the buffer was full (written by pid 77)");
	/* And one of a writer that says less. */
	facts_packet(&x, 3, 78, 1 | 256, 0, false);
	check_no_room("1,235 packets or more dropped: the buffer was full (written by pid 78)");
	/* A number that no writer can have reached. */
	facts_packet(&x, 2, 77, 1 | 256, UINT64_MAX, false);
	check_no_room("9,223,372,036,854,775,808 packets or more dropped: the buffer was full "
		      "(written by "
		      "pid 78)");
}

FIXTURE_TEST(test_gaps_without_a_reason)
{
	facts_packet(&x, 2, 77, 0, 0, true);
	facts_packet(&x, 2, 77, 1, 0, false);
	check(1, "gaps between packets, for which the service reported no reason: 1\n");
	/* A loss that the buffer's counters explain is not reported twice. */
	x.stats.buffers[0].bytes_overwritten = 1000;
	check(1, "central buffer (977 KiB): the oldest 1000 B were overwritten; try -b 1mb\n");
}

FIXTURE_TEST(test_chunks_that_made_no_sense)
{
	facts_packet(&x, 2, 77, 1 | 4, 0, false);
	check(1, "shared memory: invalid chunks: 1\n");
}

/* ---- the central buffer ---- */

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

FIXTURE_TEST(test_buffers_are_distinguished)
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
	check(1,
	      "service: rejected during the recording, from this or another session: 3 chunks, 0 "
	      "patches\n");
	x.f.before = NULL;
	check(0, "");
	x.f.before = &x.before;
	x.stats.chunks_discarded = 5; /* another service than at the beginning? */
	check(0, "");
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
