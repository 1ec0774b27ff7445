/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/holes.h"
#include "unit/fixture.h"

static struct holes h;

SETUP
{
	h = (struct holes){0};
}

TEARDOWN
{
	holes_deinit(&h);
}

static void bundle(uint32_t sequence, struct bundle_span b)
{
	holes_add_bundle(&h, sequence, &b);
}

static void check_hole(size_t i, uint32_t cpu, uint64_t from, uint64_t to, uint64_t events)
{
	assert_true(i < h.n);
	assert_int_equal(h.list[i].cpu, cpu);
	assert_int_equal(h.list[i].from_ns, from);
	assert_int_equal(h.list[i].to_ns, to);
	assert_int_equal(h.list[i].events, events);
}

FIXTURE_TEST(nothing_is_missing)
{
	bundle(2, (struct bundle_span){.cpu = 0, .first_ns = 10, .last_ns = 20});
	bundle(2, (struct bundle_span){
			  .cpu = 0, .previous_end_ns = 20, .first_ns = 25, .last_ns = 30});
	/* Another CPU's time does not matter. */
	bundle(2,
	       (struct bundle_span){.cpu = 1, .previous_end_ns = 5, .first_ns = 11, .last_ns = 12});
	assert_int_equal(h.n, 0);
	assert_int_equal(h.total, 0);
}

FIXTURE_TEST(ring_that_overwrote_leaves_a_hole)
{
	bundle(2, (struct bundle_span){.cpu = 3, .first_ns = 10, .last_ns = 20});
	bundle(2, (struct bundle_span){.cpu = 3,
				       .lost = true,
				       .lost_count = 7,
				       .previous_end_ns = 20,
				       .first_ns = 90,
				       .last_ns = 95});
	assert_int_equal(h.n, 1);
	check_hole(0, 3, 20, 90, 7);
	assert_false(h.list[0].on_the_way);
}

/* A session has two sequences of bundles. */
FIXTURE_TEST(nothing_is_recorded_between_sessions)
{
	bundle(2, (struct bundle_span){.cpu = 0, .first_ns = 10, .last_ns = 20});
	bundle(3, (struct bundle_span){.cpu = 0, .first_ns = 12, .last_ns = 25});
	bundle(2, (struct bundle_span){.cpu = 1, .first_ns = 11, .last_ns = 30});
	holes_begin_session(&h);
	bundle(4, (struct bundle_span){.cpu = 0, .first_ns = 70, .last_ns = 80});
	bundle(5, (struct bundle_span){.cpu = 0, .first_ns = 71, .last_ns = 75});
	bundle(4, (struct bundle_span){.cpu = 1, .first_ns = 75, .last_ns = 76});
	bundle(4, (struct bundle_span){.cpu = 2, .first_ns = 75, .last_ns = 76});
	assert_int_equal(h.n, 2);
	check_hole(0, 0, 25, 70, 0);
	check_hole(1, 1, 30, 75, 0);
	assert_true(h.list[0].between_sessions);
	holes_begin_session(&h);
	bundle(6, (struct bundle_span){.cpu = 2, .first_ns = 100, .last_ns = 110});
	assert_int_equal(h.n, 3);
	check_hole(2, 2, 76, 100, 0);
}

/* Overwritten before anything was read: from the start on. */
FIXTURE_TEST(first_bundle_may_come_after_a_hole)
{
	bundle(2, (struct bundle_span){.cpu = 0, .lost = true, .first_ns = 90, .last_ns = 95});
	check_hole(0, 0, 0, 90, 0);
}

/* Packets of the sequence are missing; the bundles say of which CPUs. */
FIXTURE_TEST(lost_packet_is_a_hole_of_its_cpu)
{
	bundle(2, (struct bundle_span){.cpu = 0, .first_ns = 10, .last_ns = 20});
	bundle(2, (struct bundle_span){.cpu = 1, .first_ns = 11, .last_ns = 21});
	bundle(5, (struct bundle_span){.cpu = 1, .first_ns = 11, .last_ns = 21});
	holes_add_gap(&h, 2);
	bundle(2, (struct bundle_span){
			  .cpu = 0, .previous_end_ns = 20, .first_ns = 30, .last_ns = 31});
	bundle(5, (struct bundle_span){
			  .cpu = 1, .previous_end_ns = 40, .first_ns = 50, .last_ns = 60});
	bundle(2, (struct bundle_span){
			  .cpu = 1, .previous_end_ns = 40, .first_ns = 50, .last_ns = 60});
	assert_int_equal(h.n, 1);
	check_hole(0, 1, 21, 50, 0);
	assert_true(h.list[0].on_the_way);
}

/* By CPU and time, and of too many the longest; all are counted. */
FIXTURE_TEST(longest_are_kept_in_order)
{
	for (uint64_t i = HOLES_MAX + 10; i > 0; i--)
		bundle((uint32_t)i, (struct bundle_span){.cpu = (uint32_t)(i % 2),
							 .lost = true,
							 .previous_end_ns = i * 1000,
							 .first_ns = i * 1000 + i});
	assert_int_equal(h.total, HOLES_MAX + 10);
	assert_int_equal(h.n, HOLES_MAX);
	for (size_t i = 0; i < h.n; i++) {
		assert_true(h.list[i].to_ns - h.list[i].from_ns > 10);
		if (i)
			assert_true(h.list[i - 1].cpu < h.list[i].cpu ||
				    (h.list[i - 1].cpu == h.list[i].cpu &&
				     h.list[i - 1].from_ns < h.list[i].from_ns));
	}
}
