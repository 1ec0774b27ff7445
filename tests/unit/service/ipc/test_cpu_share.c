/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "base/core/clock.h"
#include "service/ipc/quota.h"

TEST(who_takes_little_is_served_first)
{
	struct quota q = {0};

	assert_true(cpu_share_is_left(&q, 4242, 0));
	for (uint64_t i = 0; i < 1000; i++) {
		cpu_share_charge(&q, 4242, 100000, 100000, i * NS_PER_MS);
		assert_true(cpu_share_is_left(&q, 4242, i * NS_PER_MS));
	}
}

TEST(who_takes_much_pays_it_back)
{
	struct quota q = {0};
	uint64_t now = NS_PER_S;

	cpu_share_charge(&q, 4242, 50 * NS_PER_MS, 50 * NS_PER_MS, now);
	assert_false(cpu_share_is_left(&q, 4242, now));
	assert_true(cpu_share_is_left(&q, 4243, now));
	assert_false(cpu_share_is_left(&q, 4242, now + 46 * NS_PER_MS * CPU_SHARE_PART - 1));
	assert_true(cpu_share_is_left(&q, 4242, now + 46 * NS_PER_MS * CPU_SHARE_PART));
}

/* Requests of 2 ms, each of which takes 100 ms on the clock of a busy machine. */
TEST(time_in_which_a_request_waits_for_a_cpu_pays_nothing_back)
{
	struct quota q = {0};
	uint64_t now = NS_PER_S;

	for (int i = 0; i < 3; i++) {
		assert_true(cpu_share_is_left(&q, 4242, now));
		now += 100 * NS_PER_MS;
		cpu_share_charge(&q, 4242, 2 * NS_PER_MS, 100 * NS_PER_MS, now);
	}
	assert_false(cpu_share_is_left(&q, 4242, now));
	assert_true(cpu_share_is_left(&q, 4242, now + 2 * NS_PER_MS * CPU_SHARE_PART));
}

TEST(many_users_do_not_hide_one_who_takes_much)
{
	struct quota q = {0};

	cpu_share_charge(&q, 4242, 50 * NS_PER_MS, 50 * NS_PER_MS, 1);
	for (uint64_t i = 0; i < 1000; i++)
		cpu_share_charge(&q, 5000 + i, 1000, 1000, 1);
	assert_false(cpu_share_is_left(&q, 4242, 1));
}
