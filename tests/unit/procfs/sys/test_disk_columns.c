/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/client/read_tracks.h"
#include "procfs/sys/sys_diskstats.c"
#include "unit/procfs/sys_rig.h"

/* Counter tracks of disks; which of the file's numbers they get: test_sys_diskstats.c. */

static struct sys_disks disks;

static int setup(void **state)
{
	disks = (struct sys_disks){0};
	return fixture_setup(state);
}

static int teardown(void **state)
{
	sys_disks_deinit(&disks);
	return fixture_teardown(state);
}

static int set(const char *name, uint64_t first, size_t n)
{
	static const uint64_t device[2] = {8, 16};
	uint64_t v[SYS_DISK_COLUMNS];

	for (size_t i = 0; i < SYS_DISK_COLUMNS; i++)
		v[i] = first + i;
	return sys_disks_set(&disks, &poll_state, (struct span){name, strlen(name)}, device, v, n);
}

static void write_at(uint64_t ns)
{
	sys_disks_end(&disks, &poll_state);
	poll_state.begun = ns;
	sys_packet_end(&poll_state);
	read_tracks();
}

#define DISK_TEST(name) TEST_WITH(name, setup, teardown)

DISK_TEST(units_and_groups)
{
	struct pb_field counter;

	sys_disks_begin(&disks);
	assert_int_equal(set("sda", 1, SYS_DISK_COLUMNS), 0);
	assert_int_equal(set("dm-0", 101, 11), 0);
	write_at(1000);
	assert_int_equal(read_last("diskstats/sda/read I/Os"), 1);
	assert_int_equal(read_last("diskstats/sda/discard merges"), 13);
	assert_int_equal(read_last("diskstats/dm-0/in_flight"), 109);
	assert_null(read_find("diskstats/dm-0/discard I/Os"));
	assert_true(fake_str_is(read_find("diskstats/sda")->descriptor,
				PB_TRACK_DESCRIPTOR_DESCRIPTION, 0, "8:16"));
	assert_int_equal(rd.n_values, 9 + 7);
	/* Milliseconds, which readers make nanoseconds of. */
	assert_true(read_sub(read_find("diskstats/sda/io_ticks")->descriptor,
			     PB_TRACK_DESCRIPTOR_COUNTER, &counter));
	assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT), 1);
	assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER), 1000000);
}

DISK_TEST(the_order_may_change)
{
	for (uint64_t pass = 0; pass < 3; pass++) {
		sys_disks_begin(&disks);
		assert_int_equal(set(pass == 1 ? "b" : "a", 10 * pass, 11), 0);
		assert_int_equal(set(pass == 1 ? "a" : "b", 20 * pass, 11), 0);
		write_at(1000 * pass);
	}
	assert_int_equal(disks.n, 2);
	assert_int_equal(read_last("diskstats/a/read I/Os"), 20);
	assert_int_equal(read_last("diskstats/b/read I/Os"), 40);
	assert_int_equal(read_count("diskstats/a/read I/Os"), 2); /* it had 20 before */
	assert_int_equal(read_count("diskstats/b/read I/Os"), 3);
}

DISK_TEST(there_is_a_limit)
{
	char name[16];

	sys_disks_begin(&disks);
	for (unsigned i = 0; i < SYS_DISKS_MAX; i++) {
		snprintf(name, sizeof(name), "loop%u", i);
		assert_int_equal(set(name, 1, SYS_DISK_COLUMNS), 0);
	}
	assert_int_equal(set("one more", 1, SYS_DISK_COLUMNS), -E2BIG);
	assert_int_equal(set("loop7", 1, SYS_DISK_COLUMNS), 0);
}

/* Others have taken what room there is. */
DISK_TEST(no_room_for_counters)
{
	uint32_t group = extra_counters_group(&poll_state.extras, "others");

	for (unsigned i = 0; i < EXTRA_COUNTERS_MAX - 1; i++) {
		char name[16];
		int n = snprintf(name, sizeof(name), "c%u", i);

		extra_counters_find(&poll_state.extras, group, (struct span){name, (size_t)n},
				    &(struct track_spec){.unit = TRACK_UNIT_COUNT});
	}
	for (unsigned pass = 0; pass < 3; pass++) {
		sys_disks_begin(&disks);
		assert_int_equal(set("sda", pass, 11), -E2BIG);
		write_at(1000 * (pass + 1));
	}
	assert_int_equal(read_last("diskstats/sda/read I/Os"), 2);
	assert_null(read_find("diskstats/sda/read merges"));
}
