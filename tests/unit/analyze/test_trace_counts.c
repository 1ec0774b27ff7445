/* SPDX-License-Identifier: Apache-2.0 */
/* What a scan counts by the kind of the payload and by the sequence of a packet. */
#include "analyze/trace_scan.h"
#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_mem.h"

/* ---- samples ---- */

static void scan_payload(struct trace_scan *s, uint32_t field, const void *payload, size_t len)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bytes(&m.enc, field, payload, len);
	trace_scan_packet(s, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

/* TrackEvent.type: slice begin, counter. */
static const uint8_t slice[] = {PB_TRACK_EVENT_TYPE << 3, 1};
static const uint8_t counter[] = {PB_TRACK_EVENT_TYPE << 3, 4};

/* The numbers are those of trace_processor. */
TEST(each_value_of_a_counter_packet_counts)
{
	struct trace_scan s = {0};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, 7);
	pb_enc_u64(&m.enc, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, 8);
	pb_enc_double(&m.enc, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, 0.5);
	scan_payload(&s, PB_TRACE_PACKET_TRACK_EVENT, m.buf, pb_mem_len(&m));
	assert_int_equal(s.samples.of[SAMPLES_SLICES], 1); /* a slice with counters */
	pb_enc_u64(&m.enc, PB_TRACK_EVENT_TYPE, 4);
	scan_payload(&s, PB_TRACE_PACKET_TRACK_EVENT, m.buf, pb_mem_len(&m));
	assert_int_equal(s.samples.of[SAMPLES_COUNTERS], 4);
	assert_int_equal(s.samples.of[SAMPLES_SLICES], 1);
	pb_mem_deinit(&m);
	trace_scan_deinit(&s);
}

TEST(each_kind_of_payload_counts_as_its_samples)
{
	static const uint8_t totals[] = {0xa0, 1, 5, 0xa8, 1, 0}; /* num_total: 5 num_failed: 0 */
	static const uint8_t line[] = {0x3a, 1, 'x'};
	static const uint8_t stack[] = {PB_PERF_SAMPLE_CALLSTACK_IID << 3, 1};
	static const uint8_t loss[] = {0x90, 1, 3}; /* kernel_records_lost */
	static const struct {
		uint32_t field;
		const uint8_t *payload;
		size_t len;
		int kind; /* -1: not counted */
	} cases[] = {
		{PB_TRACE_PACKET_SYS_STATS, NULL, 0, SAMPLES_SYS_STATS},
		{PB_TRACE_PACKET_PROCESS_STATS, NULL, 0, SAMPLES_PROCESS_STATS},
		{PB_TRACE_PACKET_BATTERY, NULL, 0, SAMPLES_BATTERY},
		{PB_TRACE_PACKET_JOURNALD_EVENT, line, sizeof(line), SAMPLES_JOURNAL},
		{PB_TRACE_PACKET_JOURNALD_EVENT, totals, sizeof(totals), -1},
		{PB_TRACE_PACKET_PERF_SAMPLE, stack, sizeof(stack), SAMPLES_STACKS},
		{PB_TRACE_PACKET_PERF_SAMPLE, loss, sizeof(loss), -1},
		{PB_TRACE_PACKET_EBPF_PROCESS_ROWS, line, sizeof(line), SAMPLES_PROCESS_ROWS},
		{PB_TRACE_PACKET_TRACK_EVENT, slice, sizeof(slice), SAMPLES_SLICES},
		{PB_TRACE_PACKET_TRACK_EVENT, counter, sizeof(counter), SAMPLES_COUNTERS},
		{PB_TRACE_PACKET_TRACK_EVENT, counter, 1, SAMPLES_SLICES}, /* invalid */
		{PB_TRACE_PACKET_FTRACE_EVENTS, NULL, 0, -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trace_scan s = {0};

		scan_payload(&s, cases[i].field, cases[i].payload, cases[i].len);
		assert_int_equal(sample_counts_total(&s.samples), cases[i].kind >= 0);
		if (cases[i].kind >= 0)
			assert_int_equal(s.samples.of[cases[i].kind], 1);
		trace_scan_deinit(&s);
	}
	for (int i = 0; i < SAMPLES_KINDS; i++)
		assert_non_null(sample_counts_name(i));
}

/* ---- sequences ---- */

struct packet_of {
	uint32_t sequence;
	int32_t pid;
	uint32_t dropped;
	bool first;
	uint64_t n_dropped;
};

static void scan_of(struct trace_scan *s, struct packet_of p)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, p.sequence);
	if (p.pid)
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_TRUSTED_PID, (uint64_t)p.pid);
	if (p.dropped)
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, p.dropped);
	if (p.first)
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
	if (p.n_dropped)
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_PACKETS_DROPPED, p.n_dropped);
	trace_scan_packet(s, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

struct seen {
	struct sequence s[8];
	int n;
};

static void keep(void *ctx, const struct sequence *s)
{
	struct seen *seen = ctx;

	if (seen->n < 8)
		seen->s[seen->n] = *s;
	seen->n++;
}

static struct seen all_of(const struct trace_scan *s)
{
	struct seen seen = {0};

	sequence_table_each(&s->sequences, keep, &seen);
	return seen;
}

TEST(packets_count_by_sequence)
{
	struct trace_scan s = {0};
	struct seen seen;

	scan_of(&s, (struct packet_of){.sequence = 7, .first = true});
	scan_of(&s, (struct packet_of){.sequence = 2, .pid = 100, .first = true});
	scan_of(&s, (struct packet_of){.sequence = 7, .pid = 200});
	scan_of(&s, (struct packet_of){.sequence = 7}); /* the pid stays known */
	seen = all_of(&s);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.s[0].id, 7);
	assert_int_equal(seen.s[0].packets, 3);
	assert_int_equal(seen.s[0].pid, 200);
	assert_int_equal(seen.s[0].gaps, 0);
	assert_int_equal(seen.s[1].pid, 100);
	trace_scan_deinit(&s);
}

/* One kind of central buffer writes 1 into the first packet of each sequence, lost or not. */
TEST(a_mark_without_a_reason_at_the_start_is_no_gap)
{
	struct trace_scan s = {0};
	struct seen seen;

	scan_of(&s, (struct packet_of){.sequence = 2, .dropped = 1});
	scan_of(&s, (struct packet_of){.sequence = 3, .first = true});
	/* a writer began again under the same id */
	scan_of(&s, (struct packet_of){.sequence = 3, .dropped = 1, .first = true});
	seen = all_of(&s);
	assert_int_equal(seen.s[0].gaps + seen.s[1].gaps, 0);
	scan_of(&s, (struct packet_of){.sequence = 2, .dropped = 1});
	seen = all_of(&s);
	assert_int_equal(seen.s[0].gaps, 1);
	assert_int_equal(seen.s[0].by_reason[GAP_PRESENT], 1);
	trace_scan_deinit(&s);
}

TEST(reasons_are_bits_and_count_also_at_the_start)
{
	struct trace_scan s = {0};
	struct sequence one;

	scan_of(&s, (struct packet_of){.sequence = 2, .dropped = 1 | 256, .first = true});
	scan_of(&s, (struct packet_of){.sequence = 2, .dropped = 1 | 64 | 2, .n_dropped = 9});
	scan_of(&s, (struct packet_of){.sequence = 2, .dropped = 1 | 1024}); /* later version */
	one = all_of(&s).s[0];
	assert_int_equal(one.gaps, 3);
	assert_int_equal(one.by_reason[GAP_SMB_FULL], 1);
	assert_int_equal(one.by_reason[GAP_OVERWRITE], 1);
	assert_int_equal(one.by_reason[GAP_READ_GAP], 1);
	assert_int_equal(one.by_reason[GAP_PRESENT], 1);
	assert_int_equal(one.counted_gaps, 1);
	assert_int_equal(one.dropped, 9);
	trace_scan_deinit(&s);
}

TEST(the_number_of_sequences_has_a_limit)
{
	struct trace_scan s = {0};

	for (uint32_t i = 1; i <= SEQUENCE_TABLE_MAX + 5; i++)
		scan_of(&s, (struct packet_of){.sequence = i, .first = true});
	scan_of(&s, (struct packet_of){.sequence = 1});
	assert_int_equal(s.sequences.left_out, 5);
	assert_int_equal(all_of(&s).n, SEQUENCE_TABLE_MAX);
	trace_scan_deinit(&s);
	assert_int_equal(all_of(&s).n, 0);
}
