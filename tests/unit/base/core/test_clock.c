/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "unit/test.h"

TEST(clocks_never_go_back)
{
	uint64_t boot = clock_boot_ns(), mono = clock_mono_ns();

	assert_true(boot > 0 && mono > 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t b = clock_boot_ns(), m = clock_mono_ns();

		assert_true(b >= boot && m >= mono);
		boot = b;
		mono = m;
	}
}

TEST(boot_time_is_the_kernels)
{
	struct timespec before, after;
	uint64_t t;

	clock_gettime(CLOCK_BOOTTIME, &before);
	t = clock_boot_ns();
	clock_gettime(CLOCK_BOOTTIME, &after);
	assert_true(t >= (uint64_t)before.tv_sec * NS_PER_S + (uint64_t)before.tv_nsec);
	assert_true(t <= (uint64_t)after.tv_sec * NS_PER_S + (uint64_t)after.tv_nsec);
}

TEST(tick_is_within_the_period)
{
	static const uint32_t periods[] = {1, 2, 7, 100, 1000, UINT32_MAX};

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++)
		for (int n = 0; n < 100; n++) {
			uint32_t ms = clock_ms_to_tick(periods[i]);

			assert_in_range(ms, 1, periods[i]);
		}
}

/* However long it took to ask: the tick lies between what the clock says before and after. */
TEST(tick_is_a_multiple_of_the_clock)
{
	const uint64_t period = 250;

	for (int n = 0; n < 100; n++) {
		uint64_t before = clock_mono_ns() / NS_PER_MS;
		uint32_t ms = clock_ms_to_tick((uint32_t)period);
		uint64_t after = clock_mono_ns() / NS_PER_MS;
		uint64_t tick = (before + ms + period - 1) / period * period;

		assert_true(before + ms <= tick && tick <= after + ms);
	}
}
