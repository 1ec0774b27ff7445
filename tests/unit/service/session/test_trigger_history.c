/* SPDX-License-Identifier: Apache-2.0 */

#include "base/core/clock.h"
#include "service/ipc/limits.h"
#include "service/session/trigger_history.h"
#include "unit/test.h"

#define HOUR (3600 * NS_PER_S)

static int setup(void **state)
{
	static struct trigger_history h;

	h = (struct trigger_history){0};
	*state = &h;
	return 0;
}

static int teardown(void **state)
{
	trigger_history_deinit(*state);
	return 0;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct trigger_history *h)

FIXTURE_TEST(each_name_has_its_own_count)
{
	assert_int_equal(trigger_history_count(h, "a", 0), 0);
	trigger_history_add(h, "a", 1);
	trigger_history_add(h, "b", 2);
	trigger_history_add(h, "a", 3);
	assert_int_equal(trigger_history_count(h, "a", 4), 2);
	assert_int_equal(trigger_history_count(h, "b", 4), 1);
	assert_int_equal(trigger_history_count(h, "", 4), 0);
}

FIXTURE_TEST(a_day_later_it_is_forgotten)
{
	trigger_history_add(h, "a", HOUR);
	trigger_history_add(h, "a", 2 * HOUR);
	assert_int_equal(trigger_history_count(h, "a", 25 * HOUR - 1), 2);
	assert_int_equal(trigger_history_count(h, "a", 25 * HOUR), 1);
	assert_int_equal(trigger_history_count(h, "a", 26 * HOUR), 0);
	assert_int_equal(h->n, 0);
}

FIXTURE_TEST(flood_of_one_name_makes_no_other_forgotten)
{
	uint64_t now = 0;

	assert_false(trigger_history_add(h, "rare", now++));
	for (unsigned i = 0; i < 2 * MAX_TRIGGER_HITS; i++)
		assert_int_equal(trigger_history_add(h, "often", now++),
				 i >= MAX_TRIGGER_HITS_PER_NAME);
	assert_int_equal(trigger_history_count(h, "rare", now), 1);
	assert_int_equal(trigger_history_count(h, "often", now), MAX_TRIGGER_HITS_PER_NAME);
}

FIXTURE_TEST(memory_is_bounded_over_all_names)
{
	char name[16];

	for (unsigned i = 0; i < MAX_TRIGGER_HITS + 10; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(trigger_history_add(h, name, i), i >= MAX_TRIGGER_HITS);
	}
	assert_int_equal(h->n, MAX_TRIGGER_HITS);
	assert_int_equal(trigger_history_count(h, "n9", MAX_TRIGGER_HITS + 10), 0);
	assert_int_equal(trigger_history_count(h, "n10", MAX_TRIGGER_HITS + 10), 1);
}
