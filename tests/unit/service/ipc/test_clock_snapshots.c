/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "service/ipc/clock_snapshots.h"
#include "unit/test.h"

#define S NS_PER_S

/* All clocks at t, but for one that is ahead by some. */
static struct clock_snapshot at(uint64_t t, size_t other, int64_t ahead)
{
	struct clock_snapshot c;

	for (size_t i = 0; i < CLOCK_SNAPSHOT_MAX_CLOCKS; i++)
		c.value[i] = t + 1000 * i;
	c.value[other] += (uint64_t)ahead;
	return c;
}

static void add(struct clock_snapshots *c, uint64_t t, size_t other, int64_t ahead)
{
	struct clock_snapshot s = at(t, other, ahead);

	clock_snapshots_add(c, &s);
}

TEST(clocks_are_those_of_the_protocol)
{
	static const uint32_t ids[] = {6, 2, 4, 1, 3, 5, 9};
	size_t n = clock_snapshot_n_clocks();

	assert_in_range(n, 6, 7);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(clock_snapshot_clock_id(i), ids[i]);
	assert_int_equal(ids[CLOCK_SNAPSHOT_BOOTTIME], 6);
	assert_int_equal(ids[CLOCK_SNAPSHOT_REALTIME], 1);
}

TEST(taken_values_are_the_clocks)
{
	static const clockid_t clocks[] = {CLOCK_BOOTTIME,	   CLOCK_REALTIME_COARSE,
					   CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME,
					   CLOCK_MONOTONIC,	   CLOCK_MONOTONIC_RAW};
	struct clock_snapshot c;

	for (size_t i = 0; i < 6; i++) {
		uint64_t before = clock_ns(clocks[i]);

		clock_snapshot_take(&c);
		assert_in_range(c.value[i], before, clock_ns(clocks[i]));
	}
}

TEST(snapshots_are_kept_when_a_clock_drifts)
{
	static const struct {
		const char *what;
		size_t other; /* the clock that is ahead of all others a second later */
		int64_t ahead;
		uint64_t expected;
	} rows[] = {
		{"no drift", 1, 0, 1},
		{"10 ms less a ns ahead", 3, 9999999, 1},
		{"10 ms less a ns behind", 3, -9999999, 1},
		{"10 ms ahead, clock 1", 1, 10000000, 2},
		{"10 ms ahead, clock 2", 2, 10000000, 2},
		{"10 ms ahead, clock 3", 3, 10000000, 2},
		{"10 ms ahead, clock 4", 4, 10000000, 2},
		{"10 ms ahead, clock 5", 5, 10000000, 2},
		{"10 ms behind", 5, -10000000, 2},
		{"an hour of suspend", CLOCK_SNAPSHOT_BOOTTIME, 3600 * (int64_t)S, 2},
		{"the TSC, which counts no nanoseconds", 6, (int64_t)S, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct clock_snapshots c = {0};
		struct clock_snapshots begun = {.has_initial = true, .initial = at(5 * S, 0, 0)};

		add(&c, 5 * S, 0, 0);
		add(&c, 6 * S, rows[i].other, rows[i].ahead);
		if (c.n != rows[i].expected)
			fail_msg("%s: %zu snapshots", rows[i].what, (size_t)c.n);
		assert_int_equal(c.ring[0].value[0], 5 * S);
		/* The initial one counts as the newest. */
		add(&begun, 6 * S, rows[i].other, rows[i].ahead);
		if (begun.n != rows[i].expected - 1)
			fail_msg("%s: %zu after the initial one", rows[i].what, (size_t)begun.n);
	}
}

TEST(full_ring_loses_the_oldest)
{
	struct clock_snapshots c = {0};

	for (uint64_t i = 0; i < CLOCK_SNAPSHOT_RING + 3; i++)
		add(&c, i * S, 1, (int64_t)(i * S));
	assert_int_equal(c.n, CLOCK_SNAPSHOT_RING);
	for (uint64_t i = 0; i < CLOCK_SNAPSHOT_RING; i++)
		assert_int_equal(c.ring[i].value[0], (i + 3) * S);
}

TEST(clear_begins_anew)
{
	struct clock_snapshots c = {.has_initial = true, .initial = at(5 * S, 0, 0)};

	add(&c, 6 * S, 1, (int64_t)S);
	clock_snapshots_clear(&c);
	assert_false(c.has_initial);
	assert_int_equal(c.n, 0);
	add(&c, 7 * S, 0, 0);
	assert_int_equal(c.n, 1);
}
