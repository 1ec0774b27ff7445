/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the ranges, whatever the order of gaps with and without one; and against a ring
 * that is played through.
 */

#include "ftrace/ring/lost_ranges.h"
#include "unit/rng.h"
#include "unit/test.h"

static struct lost_ranges l;
static struct lost_range range;

static int setup(void **state)
{
	l = (struct lost_ranges){0};
	range = (struct lost_range){0};
	return 0;
}

static const struct ring_page_facts whole = {.first_ns = 100, .last_ns = 200};

static struct ring_page_facts gap(uint64_t ns, uint64_t number)
{
	return (struct ring_page_facts){
		.lost = true, .lost_count = number, .first_ns = ns, .last_ns = ns + 100};
}

static void assert_range(uint64_t begin, uint64_t end, uint64_t count)
{
	assert_int_equal(range.begin_ns, begin);
	assert_int_equal(range.end_ns, end);
	assert_int_equal(range.count, count);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, NULL)

FIXTURE_TEST(a_number_in_the_page_is_enough)
{
	const struct ring_page_facts p = gap(1000, 7);

	assert_false(lost_ranges_add(&l, &whole, 0, &range));
	assert_false(lost_ranges_needs_overrun(&l, &p));
	assert_true(lost_ranges_add(&l, &p, 0, &range));
	assert_range(200, 1000, 7);
	assert_false(lost_ranges_end(&l, true, &range));
}

FIXTURE_TEST(records_before_the_first_page)
{
	const struct ring_page_facts p = gap(1000, 7);

	assert_true(lost_ranges_add(&l, &p, 0, &range));
	assert_range(0, 1000, 7);
}

FIXTURE_TEST(the_counter_stands_for_a_page_without_number)
{
	const struct ring_page_facts known = gap(1000, 7), unknown = gap(2000, 0);
	struct ring_page_facts after = {.first_ns = 3000, .last_ns = 3100};

	assert_true(lost_ranges_add(&l, &known, 0, &range));
	assert_true(lost_ranges_needs_overrun(&l, &unknown));
	assert_false(lost_ranges_add(&l, &unknown, 19, &range));
	assert_true(lost_ranges_add(&l, &after, 0, &range));
	assert_range(1100, 2000, 12);
	assert_false(lost_ranges_add(&l, &after, 0, &range));
}

FIXTURE_TEST(an_empty_ring_settles_it_too)
{
	const struct ring_page_facts unknown = gap(2000, 0);

	lost_ranges_add(&l, &whole, 0, &range);
	lost_ranges_add(&l, &unknown, 12, &range);
	assert_true(lost_ranges_end(&l, true, &range));
	assert_range(200, 2000, 12);
}

/* The counter may have gone on between the page and its reading: the sum of both is known only. */
FIXTURE_TEST(gaps_in_a_row_are_one_range)
{
	const struct ring_page_facts a = gap(1000, 0), b = gap(2000, 5), c = gap(3000, 0);
	struct ring_page_facts after = {.first_ns = 4000, .last_ns = 4100};

	lost_ranges_add(&l, &whole, 0, &range);
	assert_false(lost_ranges_add(&l, &a, 13, &range));
	assert_true(lost_ranges_needs_overrun(&l, &b));
	assert_false(lost_ranges_add(&l, &b, 15, &range));
	assert_false(lost_ranges_add(&l, &c, 20, &range));
	assert_true(lost_ranges_add(&l, &after, 0, &range));
	assert_range(200, 3000, 20);
}

FIXTURE_TEST(who_does_not_wait_counts_nothing_twice)
{
	const struct ring_page_facts a = gap(1000, 0), b = gap(2000, 5);
	struct ring_page_facts after = {.first_ns = 4000, .last_ns = 4100};

	lost_ranges_add(&l, &a, 13, &range); /* 10 of them; 3 more were overwritten meanwhile */
	assert_true(lost_ranges_end(&l, false, &range));
	assert_range(0, 1000, 13);
	lost_ranges_add(&l, &b, 15, &range);
	assert_true(lost_ranges_add(&l, &after, 0, &range));
	assert_range(1100, 2000, 2);
}

FIXTURE_TEST(a_counter_that_cannot_be_read)
{
	const struct ring_page_facts a = gap(1000, 0);

	lost_ranges_add(&l, &a, UINT64_MAX, &range);
	assert_true(lost_ranges_end(&l, true, &range));
	assert_range(0, 1000, 0);
}

FIXTURE_TEST(a_counter_that_begins_anew)
{
	const struct ring_page_facts known = gap(1000, 700), a = gap(2000, 0);

	lost_ranges_add(&l, &known, 0, &range);
	lost_ranges_add(&l, &a, 30, &range);
	assert_true(lost_ranges_end(&l, true, &range));
	assert_range(1100, 2000, 30);
}

/* A ring of pages that a writer fills at random speed, as the kernel keeps it. */
struct kernel {
	uint64_t written, read; /* pages */
	uint64_t overrun, last_overrun, now;
};

#define PAGES 8
#define RECORDS 10

static void write_pages(struct kernel *k, unsigned n)
{
	for (; n; n--) {
		k->written++;
		if (k->written - k->read > PAGES) {
			k->read++;
			k->overrun += RECORDS;
		}
	}
}

/* rng: while the writer goes on. */
static bool read_one(struct kernel *k, uint64_t *rng)
{
	struct ring_page_facts p = {
		.lost = k->overrun != k->last_overrun,
		.first_ns = k->read * 100 + 100,
		.last_ns = k->read * 100 + 190,
	};

	if (k->read == k->written)
		return lost_ranges_end(&l, true, &range);
	if (p.lost && rng && rng_below(rng, 2))
		p.lost_count = k->overrun - k->last_overrun;
	k->last_overrun = k->overrun;
	k->read++;
	if (rng && !rng_below(rng, 5))
		write_pages(k, rng_below(rng, 4));
	if (lost_ranges_add(&l, &p, k->overrun, &range))
		return true;
	return rng && !rng_below(rng, 100) && lost_ranges_end(&l, false, &range);
}

FIXTURE_TEST(a_ring_played_through)
{
	uint64_t rng = 5, sum = 0, end = 0, turns = 200000;
	struct kernel k = {0};

	while (turns || k.read < k.written || l.open.end_ns) {
		if (turns && turns--)
			write_pages(&k, rng_below(&rng, rng_below(&rng, 4) ? 3 : 30));
		if (!read_one(&k, turns ? &rng : NULL))
			continue;
		sum += range.count;
		assert_true(range.begin_ns >= end && range.end_ns > range.begin_ns);
		assert_true(sum <= k.overrun);
		end = range.end_ns;
	}
	assert_true(sum > 100000);
	assert_int_equal(sum, k.overrun);
}
