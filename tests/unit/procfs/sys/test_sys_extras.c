/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/procfs/sys_rig.h"
#include "unit/client/read_tracks.h"

/* Counters without a number: found by group and name, set between two writes. */

static const struct track_spec plain = {.unit = TRACK_UNIT_COUNT};

static uint32_t add(uint32_t group, const char *name)
{
	return sys_extras_counter(&poll_state.extras, group, (struct span){name, strlen(name)},
				  &plain);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_teardown)

FIXTURE_TEST(a_name_is_one_counter_in_its_group)
{
	struct sys_extras *x = &poll_state.extras;
	uint32_t a = sys_extras_group(x, "a"), b = sys_extras_group(x, "b");
	uint32_t one = add(a, "one");

	assert_int_equal(add(a, "one"), one);
	assert_int_not_equal(add(b, "one"), one);
	assert_int_not_equal(add(a, "on"), one);
	assert_int_equal(x->n, 3);
}

FIXTURE_TEST(what_was_set_is_written_once)
{
	struct sys_extras *x = &poll_state.extras;
	uint32_t group = sys_extras_group(x, "file"), i = add(group, "i"), k = add(group, "k");

	sys_extras_set(x, i, -5);
	sys_extras_write(x, 1000);
	read_tracks();
	assert_int_equal(read_last("file/i"), -5);
	sys_extras_write(x, 2000);
	assert_int_equal(x->n_fresh, 0);
	sys_extras_set(x, k, INT64_MAX);
	sys_extras_set(x, i, -5);
	sys_extras_write(x, 3000);
	read_tracks();
	assert_true(read_last("file/k") == INT64_MAX);
	/* The one that did not change is not there again. */
	assert_int_equal(read_count("file/i"), 1);
}

FIXTURE_TEST(a_value_with_a_point)
{
	struct sys_extras *x = &poll_state.extras;
	uint32_t i = add(sys_extras_group(x, "file"), "i");

	sys_extras_set_double(x, i, 0.52);
	sys_extras_write(x, 1000);
	read_tracks();
	assert_true(read_last_double("file/i") == 0.52);
	sys_extras_set(x, i, 7);
	sys_extras_write(x, 2000);
	read_tracks();
	assert_int_equal(read_last("file/i"), 7);
	sys_extras_set_double(x, SYS_EXTRA_NONE, 1);
	assert_int_equal(x->n_fresh, 0);
}

FIXTURE_TEST(a_slot_has_its_counter_from_the_first_value_on)
{
	struct sys_extras *x = &poll_state.extras;
	uint32_t group = sys_extras_group(x, "file"), slot = 0, other = 0;

	assert_true(sys_extras_put(x, &slot, group, (struct span){"a", 1}, &plain, 5));
	sys_extras_write(x, 1000);
	assert_true(sys_extras_put(x, &slot, TRACK_VOID, (struct span){"x", 1}, &plain, 6));
	assert_true(sys_extras_put(x, &other, group, (struct span){"b", 1}, &plain, 7));
	sys_extras_write(x, 2000);
	read_tracks();
	assert_int_equal(read_nth("file/a", 0)->i, 5);
	assert_int_equal(read_last("file/a"), 6);
	assert_int_equal(read_last("file/b"), 7);
	assert_int_equal(x->n, 2);
}

/* Also the counter that there was no room for. */
FIXTURE_TEST(what_is_not_there_is_set_in_vain)
{
	struct sys_extras *x = &poll_state.extras;

	sys_extras_set(x, 0, 1);
	sys_extras_set(x, SYS_EXTRA_NONE, 1);
	sys_extras_write(x, 1000);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(there_is_a_limit)
{
	struct sys_extras *x = &poll_state.extras;
	uint32_t group = sys_extras_group(x, "file");
	char name[16];

	for (unsigned i = 0; i < SYS_EXTRAS_MAX; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		assert_int_equal(
			sys_extras_new(x, group, (struct span){name, strlen(name)}, &plain), i);
	}
	assert_int_equal(add(group, "more"), SYS_EXTRA_NONE);
	assert_int_equal(add(group, "c4095"), 4095);
	for (unsigned i = 0; i < SYS_EXTRAS_MAX + 5; i++)
		sys_extras_set(x, i % SYS_EXTRAS_MAX, i);
	assert_int_equal(x->n_fresh, SYS_EXTRAS_MAX);
	x->n_fresh = 1000; /* as many packets as a test has room for */
	sys_extras_write(x, 1000);
}

/* A source without its own is one that was not set up. */
FIXTURE_TEST(without_init_nothing_is_noted)
{
	struct sys_extras x = {0};

	assert_int_equal(sys_extras_group(&x, "file"), TRACK_VOID);
	assert_int_equal(sys_extras_counter(&x, TRACK_VOID, (struct span){"a", 1}, &plain),
			 SYS_EXTRA_NONE);
	sys_extras_set(&x, 0, 1);
	sys_extras_write(&x, 1000);
	assert_int_equal(fake.n, 0);
	sys_extras_deinit(&x);
}
