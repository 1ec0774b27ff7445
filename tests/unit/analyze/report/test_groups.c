/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in groups: sums, the last of the longest ones, percentiles by nearest rank, and the
 * largest ones.
 */
#include <stdlib.h>

#include "analyze/report/groups.h"
#include "unit/test.h"

/* 1 to n times, in an order that is not sorted; of each key the samples are key, 2 * key, ... */
static void add_all(struct groups *g, uint64_t keys, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (uint64_t key = 1; key <= keys; key++)
			groups_add(g, &(struct group_sample){.key = key << 32,
							     .ns = (int64_t)key * (1 + i * 7 % n),
							     .ts = i,
							     .flagged = i == 0});
}

TEST(percentiles_are_by_nearest_rank)
{
	struct groups g = {.n = 0};

	add_all(&g, 300, 200); /* 7 and 200 have no common divisor: each number comes once */
	assert_true(groups_begin_fill(&g));
	add_all(&g, 300, 200);
	assert_int_equal(g.n, 300);
	for (uint64_t key = 1; key <= 300; key++) {
		const struct group *e = groups_find(&g, key << 32);

		assert_non_null(e);
		assert_int_equal(e->n, 200);
		assert_int_equal(e->flagged, 1);
		assert_int_equal(e->total, key * 200 * 201 / 2);
		assert_int_equal(e->longest, key * 200);
		assert_int_equal(groups_p50(&g, e), key * 100);
		assert_int_equal(groups_p99(&g, e), key * 198);
		assert_int_equal(groups_ranked(&g, e, 1), key);
		assert_int_equal(groups_ranked(&g, e, 200), key * 200);
	}
	assert_null(groups_find(&g, 7));
	groups_deinit(&g);
}

TEST(equal_samples_have_the_time_of_the_last)
{
	struct groups g = {.n = 0};

	for (int round = 0; round < 2; round++) {
		for (int64_t i = 0; i < 1000; i++)
			groups_add(&g, &(struct group_sample){.key = 5, .ns = 3, .ts = i});
		assert_true(round || groups_begin_fill(&g));
	}
	assert_int_equal(g.list[0].longest_ts, 999);
	assert_int_equal(groups_p50(&g, &g.list[0]), 3);
	assert_int_equal(groups_p99(&g, &g.list[0]), 3);
	groups_deinit(&g);
}

TEST(the_largest_are_kept_and_of_equals_the_first_rows)
{
	struct largest l = {.most = 3};
	int64_t sum = 0;

	for (uint32_t row = 0; row < 100; row++)
		largest_add(&l, row % 10 == 4 ? 50 : (int64_t)row % 10, row, row + 1);
	assert_int_equal(l.n, 3);
	for (size_t i = 0; i < l.n; i++) {
		assert_int_equal(l.items[i].ns, 50);
		assert_int_equal(l.items[i].other, l.items[i].row + 1);
		sum += l.items[i].row;
	}
	assert_int_equal(sum, 4 + 14 + 24);
	free(l.items);
	l = (struct largest){.most = 0};
	largest_add(&l, 1, 1, 1);
	assert_int_equal(l.n, 0);
}
