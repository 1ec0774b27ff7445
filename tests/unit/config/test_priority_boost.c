/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "config/trace_config.h"

#define POLICY(name) PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_##name

static int read_boost(int policy, uint32_t priority, struct priority_boost *ret)
{
	Pb__PriorityBoostConfig b = PB__PRIORITY_BOOST_CONFIG__INIT;

	b.has_policy = b.has_priority = true;
	b.policy = (Pb__PriorityBoostConfig__BoostPolicy)policy;
	b.priority = priority;
	return priority_boost_read(&b, ret);
}

static void check_good(int policy, enum priority_boost_policy is, uint32_t priority)
{
	struct priority_boost b;

	assert_int_equal(read_boost(policy, priority, &b), 0);
	assert_int_equal(b.policy, is);
	assert_int_equal(b.priority, priority);
}

static void check_bad(int policy, uint32_t priority)
{
	struct priority_boost b;

	assert_int_equal(read_boost(policy, priority, &b), -EINVAL);
	assert_int_equal(b.policy, PRIORITY_BOOST_NONE);
}

TEST(ranges)
{
	struct priority_boost b;

	assert_int_equal(priority_boost_read(NULL, &b), 0);
	assert_int_equal(b.policy, PRIORITY_BOOST_NONE);
	check_good(POLICY(OTHER), PRIORITY_BOOST_OTHER, 0);
	check_good(POLICY(OTHER), PRIORITY_BOOST_OTHER, 20);
	check_bad(POLICY(OTHER), 21);
	check_bad(POLICY(OTHER), UINT32_MAX);
	check_bad(POLICY(FIFO), 0);
	check_good(POLICY(FIFO), PRIORITY_BOOST_FIFO, 1);
	check_good(POLICY(FIFO), PRIORITY_BOOST_FIFO, 99);
	check_bad(POLICY(FIFO), 100);
	check_bad(0, 1);
	check_bad(3, 1);
	check_bad(-1, 1);
}

TEST(the_policy_counts_first)
{
	const struct priority_boost none = {PRIORITY_BOOST_NONE, 0},
				    other0 = {PRIORITY_BOOST_OTHER, 0},
				    other20 = {PRIORITY_BOOST_OTHER, 20},
				    fifo1 = {PRIORITY_BOOST_FIFO, 1},
				    fifo99 = {PRIORITY_BOOST_FIFO, 99},
				    budgeted = {PRIORITY_BOOST_BUDGETED, 0};

	assert_true(priority_boost_is_stronger(other0, none));
	assert_true(priority_boost_is_stronger(other20, other0));
	assert_true(priority_boost_is_stronger(fifo1, other20));
	assert_true(priority_boost_is_stronger(fifo99, fifo1));
	assert_true(priority_boost_is_stronger(budgeted, other20));
	assert_true(priority_boost_is_stronger(fifo1, budgeted));
	assert_false(priority_boost_is_stronger(fifo1, fifo1));
	assert_false(priority_boost_is_stronger(other20, fifo1));
	assert_false(priority_boost_is_stronger(none, none));
}
