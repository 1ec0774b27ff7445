/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "base/core/clock.h"
#include "cli/record/cmd_record.c"

static int choose(int64_t min, int64_t max, uint32_t *ret)
{
	Pb__TraceConfig c = PB__TRACE_CONFIG__INIT;
	Pb__TraceConfig__CmdTraceStartDelay d = PB__TRACE_CONFIG__CMD_TRACE_START_DELAY__INIT;
	struct err_text e;

	d.has_min_delay_ms = min >= 0;
	d.min_delay_ms = (uint32_t)min;
	d.has_max_delay_ms = max >= 0;
	d.max_delay_ms = (uint32_t)max;
	c.cmd_trace_start_delay = &d;
	return start_delay_choose(&c, ret, &e);
}

TEST(it_lies_between_the_two)
{
	uint32_t ms, lowest = UINT32_MAX, highest = 0;

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(choose(10, 12, &ms), 0);
		assert_in_range(ms, 10, 12);
		lowest = ms < lowest ? ms : lowest;
		highest = ms > highest ? ms : highest;
	}
	assert_int_equal(lowest, 10);
	assert_int_equal(highest, 12);
	assert_int_equal(choose(7, 7, &ms), 0);
	assert_int_equal(ms, 7);
}

TEST(without_it_there_is_no_wait)
{
	Pb__TraceConfig c = PB__TRACE_CONFIG__INIT;
	struct err_text e;
	uint32_t ms = 1;

	assert_int_equal(start_delay_choose(&c, &ms, &e), 0);
	assert_int_equal(ms, 0);
}

TEST(what_makes_no_sense_is_refused)
{
	uint32_t ms;

	assert_int_equal(choose(-1, 5, &ms), -EINVAL);
	assert_int_equal(choose(5, -1, &ms), -EINVAL);
	assert_int_equal(choose(6, 5, &ms), -EINVAL);
	assert_int_equal(choose(0, UINT32_MAX, &ms), -EINVAL);
}

TEST(it_is_waited_for)
{
	uint64_t begin = clock_mono_ns();

	start_delay_wait(20);
	assert_true(clock_mono_ns() - begin >= 20 * NS_PER_MS);
}
