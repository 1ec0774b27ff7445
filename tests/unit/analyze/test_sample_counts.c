// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "analyze/trace_scan.c"
#include "gen/fields.h"
#include "wire/pb_mem.h"

/* TrackEvent.type: slice begin, counter. */
static const uint8_t slice[] = {PB_TRACK_EVENT_TYPE << 3, 1};
static const uint8_t counter[] = {PB_TRACK_EVENT_TYPE << 3, 4};

/* One packet may have values of several tracks; the numbers are those of trace_processor. */
TEST(each_value_of_a_counter_packet_counts)
{
	struct sample_counts c = {0};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, 7);
	pb_enc_u64(&m.enc, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, 8);
	pb_enc_double(&m.enc, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, 0.5);
	sample_counts_add(&c, PB_TRACE_PACKET_TRACK_EVENT, m.buf, pb_mem_len(&m));
	assert_int_equal(c.of[SAMPLES_SLICES], 1); /* a slice with counters */
	pb_enc_u64(&m.enc, PB_TRACK_EVENT_TYPE, 4);
	sample_counts_add(&c, PB_TRACE_PACKET_TRACK_EVENT, m.buf, pb_mem_len(&m));
	assert_int_equal(c.of[SAMPLES_COUNTERS], 4);
	assert_int_equal(c.of[SAMPLES_SLICES], 1);
	pb_mem_deinit(&m);
}

/* What the journal says of its losses is no line. */
TEST(statistics_of_the_journal_are_no_line)
{
	static const uint8_t totals[] = {0xa0, 1, 5, 0xa8, 1, 0}; /* num_total: 5 num_failed: 0 */
	static const uint8_t line[] = {0x3a, 1, 'x'};
	struct sample_counts c = {0};

	sample_counts_add(&c, PB_TRACE_PACKET_JOURNALD_EVENT, totals, sizeof(totals));
	assert_int_equal(sample_counts_total(&c), 0);
	sample_counts_add(&c, PB_TRACE_PACKET_JOURNALD_EVENT, line, sizeof(line));
	assert_int_equal(c.of[SAMPLES_JOURNAL], 1);
	sample_counts_add(&c, PB_TRACE_PACKET_EBPF_PROCESS_ROWS, line, sizeof(line));
	assert_int_equal(c.of[SAMPLES_PROCESS_ROWS], 1);
}

TEST(each_kind_counts_for_itself)
{
	struct sample_counts c = {0};

	sample_counts_add(&c, PB_TRACE_PACKET_SYS_STATS, NULL, 0);
	sample_counts_add(&c, PB_TRACE_PACKET_TRACK_EVENT, slice, sizeof(slice));
	sample_counts_add(&c, PB_TRACE_PACKET_TRACK_EVENT, counter, sizeof(counter));
	sample_counts_add(&c, PB_TRACE_PACKET_TRACK_EVENT, counter, sizeof(counter));
	sample_counts_add(&c, PB_TRACE_PACKET_TRACK_EVENT, counter, 1); /* broken: a slice */
	sample_counts_add(&c, PB_TRACE_PACKET_FTRACE_EVENTS, slice, sizeof(slice));
	assert_int_equal(c.of[SAMPLES_SYS_STATS], 1);
	assert_int_equal(c.of[SAMPLES_SLICES], 2);
	assert_int_equal(c.of[SAMPLES_COUNTERS], 2);
	assert_int_equal(sample_counts_total(&c), 5);
	assert_true(sample_counts_reads(PB_TRACE_PACKET_BATTERY));
	assert_false(sample_counts_reads(PB_TRACE_PACKET_FTRACE_EVENTS));
	for (int i = 0; i < SAMPLES_KINDS; i++)
		assert_non_null(sample_counts_name(i));
}
