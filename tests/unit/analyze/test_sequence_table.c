// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "analyze/trace_scan.c"

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

static struct seen all_of(const struct sequence_table *t)
{
	struct seen seen = {0};

	sequence_table_each(t, keep, &seen);
	return seen;
}

TEST(test_packets_count_by_sequence)
{
	struct sequence_table t = {0};
	struct seen seen;

	sequence_table_packet(&t, 7, 0, 0, true);
	sequence_table_packet(&t, 2, 100, 0, true);
	sequence_table_packet(&t, 7, 200, 0, false);
	sequence_table_packet(&t, 7, 0, 0, false); /* the pid stays known */
	seen = all_of(&t);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.s[0].id, 7);
	assert_int_equal(seen.s[0].packets, 3);
	assert_int_equal(seen.s[0].pid, 200);
	assert_int_equal(seen.s[0].gaps, 0);
	assert_int_equal(seen.s[1].pid, 100);
	sequence_table_deinit(&t);
}

/* One kind of central buffer says 1 on the first packet of each sequence, lost or not. */
TEST(test_a_bare_one_at_the_start_is_no_gap)
{
	struct sequence_table t = {0};
	struct seen seen;

	sequence_table_packet(&t, 2, 0, 1, false);
	sequence_table_packet(&t, 3, 0, 0, true);
	sequence_table_packet(&t, 3, 0, 1, true); /* a writer began again under the same id */
	seen = all_of(&t);
	assert_int_equal(seen.s[0].gaps + seen.s[1].gaps, 0);
	sequence_table_packet(&t, 2, 0, 1, false);
	seen = all_of(&t);
	assert_int_equal(seen.s[0].gaps, 1);
	assert_int_equal(seen.s[0].by_reason[GAP_PRESENT], 1);
	sequence_table_deinit(&t);
}

TEST(test_reasons_are_bits_and_count_also_at_the_start)
{
	struct sequence_table t = {0};
	struct seen seen;

	sequence_table_packet(&t, 2, 0, 1 | 256, true);
	sequence_table_packet(&t, 2, 0, 1 | 64 | 2, false);
	sequence_table_packet(&t, 2, 0, 1 | 1024, false); /* a reason of a later version */
	seen = all_of(&t);
	assert_int_equal(seen.s[0].gaps, 3);
	assert_int_equal(seen.s[0].by_reason[GAP_SMB_FULL], 1);
	assert_int_equal(seen.s[0].by_reason[GAP_OVERWRITE], 1);
	assert_int_equal(seen.s[0].by_reason[GAP_READ_GAP], 1);
	assert_int_equal(seen.s[0].by_reason[GAP_PRESENT], 1);
	sequence_table_deinit(&t);
}

TEST(test_the_number_of_sequences_has_a_limit)
{
	struct sequence_table t = {0};
	uint32_t i;

	for (i = 1; i <= SEQUENCE_TABLE_MAX + 5; i++)
		sequence_table_packet(&t, i, 0, 0, true);
	sequence_table_packet(&t, 1, 0, 0, false);
	assert_int_equal(t.left_out, 5);
	assert_int_equal(all_of(&t).n, SEQUENCE_TABLE_MAX);
	sequence_table_deinit(&t);
	assert_int_equal(all_of(&t).n, 0);
}
