/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/time_slice.h"
#include "unit/test.h"

static uint64_t ns;

static uint64_t now(void)
{
	return ns;
}

/* How long a turn that begins now is; time goes on to its end. */
static uint64_t take_turn(void)
{
	struct time_slice t = time_slice_start(now);
	uint64_t began = ns;

	while (!time_slice_over(&t))
		ns += 1000;
	return ns - began;
}

/* First, as rounds are known for good. */
TEST(a_loop_without_rounds)
{
	ns = 5;
	for (int i = 0; i < 3; i++)
		assert_int_equal(take_turn(), TIME_SLICE_NS);
}

TEST(turns_share_a_round)
{
	time_slice_loop_iteration();
	assert_int_equal(take_turn(), TIME_SLICE_NS);
	/* These were not foreseen. */
	assert_int_equal(take_turn(), 0);
	assert_int_equal(take_turn(), 0);
	assert_int_equal(take_turn(), 0);
	time_slice_loop_iteration();
	for (int i = 0; i < 4; i++)
		assert_int_equal(take_turn(), TIME_SLICE_NS / 4);
	assert_int_equal(take_turn(), 0);
	/* An iteration without much to do leaves its time unused. */
	time_slice_loop_iteration();
	assert_int_equal(take_turn(), TIME_SLICE_NS / 5);
	time_slice_loop_iteration();
	assert_int_equal(take_turn(), TIME_SLICE_NS);
}

/* What is not used of a turn is not the round's. */
TEST(a_round_begins_with_its_first_turn)
{
	time_slice_loop_iteration();
	time_slice_loop_iteration();
	ns += 100 * TIME_SLICE_NS;
	(void)time_slice_start(now);
	ns += 1000000;
	(void)time_slice_start(now);
	time_slice_loop_iteration();
	(void)time_slice_start(now);
	ns += 1000000;
	assert_int_equal(take_turn(), TIME_SLICE_NS / 2);
}

TEST(a_step_that_takes_long_ends_the_round)
{
	time_slice_loop_iteration();
	time_slice_loop_iteration();
	(void)time_slice_start(now);
	ns += 2 * TIME_SLICE_NS;
	assert_int_equal(take_turn(), 0);
}
