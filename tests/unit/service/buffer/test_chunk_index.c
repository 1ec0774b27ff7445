/* SPDX-License-Identifier: Apache-2.0 */

#include "service/buffer/chunk_index.h"
#include "unit/rng.h"
#include "unit/test.h"

static void insert(struct tb_refs *r, uint32_t chunk_id, uint32_t unit)
{
	struct tb_ref ref = {.chunk_id = chunk_id, .unit = unit};

	assert_true(tb_refs_admits(r, chunk_id));
	assert_int_equal(tb_refs_insert(r, tb_refs_upper_bound(r, chunk_id), ref), 0);
}

static void expect_ids(const struct tb_refs *r, const uint32_t *ids, uint32_t n)
{
	assert_int_equal(r->n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(tb_refs_at(r, i)->chunk_id, ids[i]);
}

#define EXPECT_IDS(r, ...)                                                                         \
	expect_ids(r, (const uint32_t[]){__VA_ARGS__},                                             \
		   sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

TEST(records_of_one_chunk_in_the_order_of_insertion)
{
	struct tb_refs r = {0};

	insert(&r, 1, 10);
	insert(&r, 3, 30);
	insert(&r, 1, 11);
	insert(&r, 1, 12);
	EXPECT_IDS(&r, 1, 1, 1, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(tb_refs_at(&r, i)->unit, 10 + i);
	tb_refs_deinit(&r);
}

TEST(upper_counts_the_ids_that_are_not_after)
{
	struct tb_refs r = {0};

	assert_int_equal(tb_refs_upper_bound(&r, 123), 0);
	insert(&r, UINT32_MAX - 1, 0);
	insert(&r, 1, 0);
	insert(&r, 1, 0);
	insert(&r, 4, 0);
	assert_int_equal(tb_refs_upper_bound(&r, UINT32_MAX - 2), 0);
	assert_int_equal(tb_refs_upper_bound(&r, UINT32_MAX - 1), 1);
	assert_int_equal(tb_refs_upper_bound(&r, UINT32_MAX), 1);
	assert_int_equal(tb_refs_upper_bound(&r, 0), 1);
	assert_int_equal(tb_refs_upper_bound(&r, 1), 3);
	assert_int_equal(tb_refs_upper_bound(&r, 3), 3);
	assert_int_equal(tb_refs_upper_bound(&r, 4), 4);
	assert_int_equal(tb_refs_upper_bound(&r, 5), 4);
	tb_refs_deinit(&r);
}

TEST(half_of_all_ids_at_most)
{
	struct tb_refs r = {0};

	assert_true(tb_refs_admits(&r, 0));
	assert_true(tb_refs_admits(&r, UINT32_MAX));
	insert(&r, 1000, 0);
	assert_true(tb_refs_admits(&r, 1000 + 0x7fffffffu));
	assert_true(tb_refs_admits(&r, 1000 - 0x7fffffffu));
	assert_false(tb_refs_admits(&r, 1000 + 0x80000000));
	insert(&r, 1000 + 0x7fffffffu, 0);
	assert_true(tb_refs_admits(&r, 2000));
	assert_false(tb_refs_admits(&r, 999));
	assert_false(tb_refs_admits(&r, 1000 + 0x80000000));
	assert_false(tb_refs_admits(&r, 1000 + 0xc0000000));
	insert(&r, 0x40000000, 0);
	EXPECT_IDS(&r, 1000, 0x40000000, 1000 + 0x7fffffffu);
	tb_refs_deinit(&r);
}

/* The refs move in the array many times, while it grows and while it does not. */
TEST(a_queue_of_any_length)
{
	struct tb_refs r = {0};
	uint32_t in = 0xfffff000, out = in;
	uint64_t rng = 3;

	for (unsigned i = 0; i < 20000; i++) {
		if (r.n == 0 || rng_below(&rng, 100) < 51) {
			insert(&r, in, in * 3);
			in++;
		} else {
			assert_int_equal(tb_refs_at(&r, 0)->chunk_id, out);
			assert_int_equal(tb_refs_at(&r, 0)->unit, out * 3);
			tb_refs_pop_front(&r);
			out++;
		}
		assert_int_equal(r.n, in - out);
	}
	tb_refs_deinit(&r);
}

/* Against a plain array: insertions anywhere, at the ends above all, while the first ones go. */
TEST(any_order)
{
	enum { IDS = 3000 };
	static uint32_t want[IDS];
	struct tb_refs r = {0};
	uint32_t n = 0;
	uint64_t rng = 11;

	insert(&r, IDS, 0);
	want[n++] = IDS;
	for (uint32_t step = 1; step < IDS; step++) {
		uint32_t where = rng_below(&rng, 4), id, i;

		if (where == 3 && n > 1 && rng_below(&rng, 3) == 0) {
			tb_refs_pop_front(&r);
			memmove(want, want + 1, --n * sizeof(*want));
		}
		id = where == 0	  ? want[0] - 1
		     : where == 1 ? want[n - 1] + 1
				  : want[0] + rng_below(&rng, want[n - 1] - want[0] + 1);
		for (i = n; i > 0 && want[i - 1] > id; i--)
			want[i] = want[i - 1];
		want[i] = id;
		n++;
		assert_int_equal(tb_refs_moves(&r, i), i < r.n - i ? i : r.n - i);
		insert(&r, id, 0);
		assert_true(r.head + r.n <= r.cap);
	}
	expect_ids(&r, want, n);
	assert_true(r.cap < 4 * r.n);
	tb_refs_deinit(&r);
}
