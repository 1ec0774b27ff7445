/* SPDX-License-Identifier: Apache-2.0 */
/* What a scan counts by the kind of the payload and by the sequence of a packet. */
#include "unit/analyze/scan_rig.h"

/* ---- samples ---- */

/* The numbers are those of trace_processor. */
FIXTURE_TEST(each_value_of_a_counter_packet_counts)
{
#define VALUES "extra_counter_values: 7 extra_counter_values: 8 extra_double_counter_values: 0.5"
	scan("track_event { " VALUES " }");
	assert_int_equal(s.samples.of[SAMPLES_SLICES], 1); /* a slice with counters */
	scan("track_event { " VALUES " type: 4 }");
	assert_int_equal(s.samples.of[SAMPLES_COUNTERS], 4);
	assert_int_equal(s.samples.of[SAMPLES_SLICES], 1);
}

FIXTURE_TEST(each_kind_of_payload_counts_as_its_samples)
{
	static const struct {
		const char *packet;
		int kind; /* -1: not counted */
	} cases[] = {
		{"sys_stats { }", SAMPLES_SYS_STATS},
		{"process_stats { }", SAMPLES_PROCESS_STATS},
		{"battery { }", SAMPLES_BATTERY},
		{"journald_event { message: 'x' }", SAMPLES_JOURNAL},
		{"journald_event { num_total: 5 num_failed: 0 }", -1},
		{"perf_sample { callstack_iid: 1 }", SAMPLES_STACKS},
		{"perf_sample { kernel_records_lost: 3 }", -1},
		{"ebpf_process_rows { 7: 'x' }", SAMPLES_PROCESS_ROWS},
		{"event_histogram { name: 'x' }", SAMPLES_HISTOGRAMS},
		{"track_event { type: 1 }", SAMPLES_SLICES},
		{"track_event { type: 4 }", SAMPLES_COUNTERS},
		{"track_event: '\\x48'", SAMPLES_SLICES}, /* invalid */
		{"ftrace_events { }", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture_teardown(NULL);
		fixture_setup(NULL);
		scan("%s", cases[i].packet);
		if (sample_counts_total(&s.samples) != (cases[i].kind >= 0) ||
		    (cases[i].kind >= 0 && s.samples.of[cases[i].kind] != 1))
			fail_msg("%s", cases[i].packet);
	}
	for (int i = 0; i < SAMPLES_KINDS; i++)
		assert_non_null(sample_counts_name(i));
}

/* ---- sequences ---- */

static struct {
	struct sequence s[8];
	int n;
} seen;

static void keep(void *ctx, const struct sequence *sequence)
{
	if (seen.n < 8)
		seen.s[seen.n] = *sequence;
	seen.n++;
}

static void list_sequences(void)
{
	seen.n = 0;
	sequence_table_each(&s.sequences, keep, NULL);
}

/* A packet of a sequence, as the service writes them. */
#define SEQUENCE "trusted_packet_sequence_id: "
#define FIRST " first_packet_on_sequence: 1"
#define DROPPED " previous_packet_dropped: "

FIXTURE_TEST(packets_count_by_sequence)
{
	scan(SEQUENCE "7" FIRST);
	scan(SEQUENCE "2 trusted_pid: 100" FIRST);
	scan(SEQUENCE "7 trusted_pid: 200");
	scan(SEQUENCE "7"); /* the pid stays known */
	list_sequences();
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.s[0].id, 7);
	assert_int_equal(seen.s[0].packets, 3);
	assert_int_equal(seen.s[0].pid, 200);
	assert_int_equal(seen.s[0].gaps, 0);
	assert_int_equal(seen.s[1].pid, 100);
}

/* One kind of central buffer writes 1 into the first packet of each sequence, lost or not. */
FIXTURE_TEST(a_mark_without_a_reason_at_the_start_is_no_gap)
{
	scan(SEQUENCE "2" DROPPED "1");
	scan(SEQUENCE "3" FIRST);
	scan(SEQUENCE "3" DROPPED "1" FIRST); /* a writer began again under the same id */
	list_sequences();
	assert_int_equal(seen.s[0].gaps + seen.s[1].gaps, 0);
	scan(SEQUENCE "2" DROPPED "1");
	list_sequences();
	assert_int_equal(seen.s[0].gaps, 1);
	assert_int_equal(seen.s[0].by_reason[GAP_PRESENT], 1);
}

FIXTURE_TEST(reasons_are_bits_and_count_also_at_the_start)
{
	const struct sequence *one = &seen.s[0];

	scan(SEQUENCE "2" DROPPED "0x101" FIRST);
	scan(SEQUENCE "2" DROPPED "0x43 packets_dropped: 9");
	scan(SEQUENCE "2" DROPPED "0x401"); /* of a later version */
	list_sequences();
	assert_int_equal(one->gaps, 3);
	assert_int_equal(one->by_reason[GAP_SMB_FULL], 1);
	assert_int_equal(one->by_reason[GAP_OVERWRITE], 1);
	assert_int_equal(one->by_reason[GAP_READ_GAP], 1);
	assert_int_equal(one->by_reason[GAP_PRESENT], 1);
	assert_int_equal(one->counted_gaps, 1);
	assert_int_equal(one->dropped, 9);
}

/* What the producer claimed comes first, what the service found comes last. */
FIXTURE_TEST(gaps_come_from_the_field_of_the_service)
{
	scan("previous_packet_dropped: 0x101 " SEQUENCE "2 trusted_pid: 55");
	scan("previous_packet_dropped: 0x101 " SEQUENCE "2 trusted_pid: 55" DROPPED "0x41");
	list_sequences();
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.s[0].by_reason[GAP_SMB_FULL], 1);
	assert_int_equal(seen.s[0].by_reason[GAP_OVERWRITE], 1);
}

FIXTURE_TEST(the_number_of_sequences_has_a_limit)
{
	for (unsigned i = 1; i <= SEQUENCE_TABLE_MAX + 5; i++)
		scan(SEQUENCE "%u" FIRST, i);
	scan(SEQUENCE "1");
	list_sequences();
	assert_int_equal(s.sequences.left_out, 5);
	assert_int_equal(seen.n, SEQUENCE_TABLE_MAX);
	trace_scan_deinit(&s);
	list_sequences();
	assert_int_equal(seen.n, 0);
}
