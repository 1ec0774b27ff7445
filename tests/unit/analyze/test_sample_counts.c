// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "analyze/trace_scan.c"
#include "gen/fields.h"

/* TrackEvent.type: slice begin, counter. */
static const uint8_t slice[] = {PB_TRACK_EVENT_TYPE << 3, 1};
static const uint8_t counter[] = {PB_TRACK_EVENT_TYPE << 3, 4};

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
