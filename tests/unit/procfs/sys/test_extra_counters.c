/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"
#include "unit/client/read_tracks.h"

/* Counters without a number: found by group and name, set between two writes. */

static const struct track_spec plain = {.unit = TRACK_UNIT_COUNT};

static uint32_t add(uint32_t group, const char *name)
{
	return extra_counters_find(&poll_state.extras, group, (struct span){name, strlen(name)},
				   &plain);
}

static void write_at(uint64_t ns)
{
	poll_state.begun = ns;
	sys_packet_end(&poll_state);
}

FIXTURE_TEST(a_name_is_one_counter_in_its_group)
{
	struct extra_counters *x = &poll_state.extras;
	uint32_t a = extra_counters_group(x, "a"), b = extra_counters_group(x, "b");
	uint32_t one = add(a, "one");

	assert_int_equal(add(a, "one"), one);
	assert_int_not_equal(add(b, "one"), one);
	assert_int_not_equal(add(a, "on"), one);
	assert_int_equal(x->n, 3);
}

FIXTURE_TEST(set_values_are_written_once)
{
	struct extra_counters *x = &poll_state.extras;
	uint32_t group = extra_counters_group(x, "file"), i = add(group, "i"), k = add(group, "k");

	extra_counters_set(x, i, -5);
	write_at(1000);
	read_tracks();
	assert_int_equal(read_last("file/i"), -5);
	write_at(2000);
	assert_int_equal(x->n_fresh, 0);
	extra_counters_set(x, k, INT64_MAX);
	extra_counters_set(x, i, -5);
	write_at(3000);
	read_tracks();
	assert_true(read_last("file/k") == INT64_MAX);
	/* The one that did not change is not there again. */
	assert_int_equal(read_count("file/i"), 1);
}

FIXTURE_TEST(a_value_with_a_point)
{
	struct extra_counters *x = &poll_state.extras;
	uint32_t i = add(extra_counters_group(x, "file"), "i");

	extra_counters_set_double(x, i, 0.52);
	write_at(1000);
	read_tracks();
	assert_true(read_last_double("file/i") == 0.52);
	extra_counters_set(x, i, 7);
	write_at(2000);
	read_tracks();
	assert_int_equal(read_last("file/i"), 7);
	extra_counters_set_double(x, EXTRA_COUNTER_NONE, 1);
	assert_int_equal(x->n_fresh, 0);
}

FIXTURE_TEST(a_slot_has_its_counter_from_the_first_value_on)
{
	struct extra_counters *x = &poll_state.extras;
	uint32_t group = extra_counters_group(x, "file"), slot = 0, other = 0;

	assert_true(extra_counters_put(x, &slot, group, (struct span){"a", 1}, &plain, 5));
	write_at(1000);
	assert_true(extra_counters_put(x, &slot, TRACK_VOID, (struct span){"x", 1}, &plain, 6));
	assert_true(extra_counters_put(x, &other, group, (struct span){"b", 1}, &plain, 7));
	write_at(2000);
	read_tracks();
	assert_int_equal(read_nth("file/a", 0)->i, 5);
	assert_int_equal(read_last("file/a"), 6);
	assert_int_equal(read_last("file/b"), 7);
	assert_int_equal(x->n, 2);
}

/* Also the counter that there was no room for. */
FIXTURE_TEST(setting_no_counter_is_a_no_op)
{
	struct extra_counters *x = &poll_state.extras;

	extra_counters_set(x, 0, 1);
	extra_counters_set(x, EXTRA_COUNTER_NONE, 1);
	write_at(1000);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(there_is_a_limit)
{
	struct extra_counters *x = &poll_state.extras;
	uint32_t group = extra_counters_group(x, "file");
	char name[16];

	for (unsigned i = 0; i < EXTRA_COUNTERS_MAX; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		assert_int_equal(add(group, name), i);
	}
	assert_int_equal(add(group, "more"), EXTRA_COUNTER_NONE);
	assert_int_equal(add(group, "c4095"), 4095);
	for (unsigned i = 0; i < EXTRA_COUNTERS_MAX + 5; i++)
		extra_counters_set(x, i % EXTRA_COUNTERS_MAX, i);
	assert_int_equal(x->n_fresh, EXTRA_COUNTERS_MAX);
	x->n_fresh = 1000; /* as many packets as a test has room for */
	write_at(1000);
}

/* A source without its own is one that was not set up. */
FIXTURE_TEST(without_init_nothing_is_noted)
{
	struct sys_packet p = {0};
	struct extra_counters *x = &p.extras;

	assert_int_equal(extra_counters_group(x, "file"), TRACK_VOID);
	assert_int_equal(extra_counters_find(x, TRACK_VOID, (struct span){"a", 1}, &plain),
			 EXTRA_COUNTER_NONE);
	extra_counters_set(x, 0, 1);
	sys_packet_end(&p);
	assert_int_equal(fake.n, 0);
	sys_packet_deinit(&p);
}
