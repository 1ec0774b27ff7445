/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* /proc/buddyinfo and /proc/diskstats, whose lines are each for themselves. */

FIXTURE_TEST(zones_with_as_many_orders_as_there_are)
{
	rig_file("buddyinfo", "Node 0, zone      DMA      1      0      2\n"
			      "Node 12, zone   Normal 99999999999 3\n");
	rig_poll(&sys_buddyinfo);
	assert_true(rig_has("buddy 0 DMA 1 0 2"));
	assert_true(rig_has("buddy 12 Normal 4294967295 3"));
	assert_int_equal(rig_lines(), 2);
}

FIXTURE_TEST(zones_of_another_format_are_left_out)
{
	rig_file("buddyinfo", "Zone\nNode 1, zone\nNode 2 zone X 1\nNode , zone X 1\n\n"
			      "Node 3, zone Y 4\n");
	rig_poll(&sys_buddyinfo);
	assert_true(rig_has("buddy 3 Y 4"));
	assert_int_equal(rig_lines(), 2);
	assert_non_null(strstr(said, "failed buddyinfo "));
}

FIXTURE_TEST(disks_of_kernels_of_all_ages)
{
	rig_file("diskstats",
		 "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
		 "8 1 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
		 "8 2 sdc 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n"
		 "259 7 nvme0n1 1 2 18446744073709551615 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
	rig_poll(&sys_diskstats);
	assert_true(rig_has("disk sda 2=3 3=4 4=7 5=8"));
	assert_true(rig_has("disk sdb 2=3 3=4 4=7 5=8 6=14 7=15"));
	assert_true(rig_has("disk sdc 2=3 3=4 4=7 5=8 6=14 7=15 8=16 9=17"));
	assert_true(rig_has("disk nvme0n1 2=18446744073709551615 3=4 4=7 5=8 6=14 7=15 8=16 9=17"));
	/* And what has no field, under the kernel's names. */
	assert_true(rig_has("extra diskstats sda read I/Os 1"));
	assert_true(rig_has("extra diskstats sda read merges 2"));
	assert_true(rig_has("extra diskstats sda write I/Os 5"));
	assert_true(rig_has("extra diskstats sda write merges 6"));
	assert_true(rig_has("extra diskstats sda in_flight 9"));
	assert_true(rig_has("extra diskstats sda io_ticks 10"));
	assert_true(rig_has("extra diskstats sda time_in_queue 11"));
	assert_true(rig_has("extra diskstats sdb discard I/Os 12"));
	assert_true(rig_has("extra diskstats sdc discard merges 13"));
	assert_int_equal(rig_lines(), 4 + 7 + 3 * 9);
}

FIXTURE_TEST(disks_that_appear_and_disappear)
{
	void *s = rig_open(&sys_diskstats);

	rig_file("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sdb 1 2 3 4 5 6 7 8 9 10 11\n");
	rig_passes(&sys_diskstats, s, 1);
	/* In a text that is cut it may be there all the same. */
	rig_file("diskstats", "8 2 sdc 1 2 3 4 5 6 7 8 9 10 11\n8 1 sdb 1 2 3 4 5 6 7 8");
	rig_passes(&sys_diskstats, s, 1);
	assert_true(rig_has("extra diskstats sdc in_flight 9"));
	assert_null(strstr(said, "extra diskstats sda"));
	rig_file("diskstats", "8 2 sdc 1 2 3 4 5 6 7 8 9 10 11\n8 1 sdb 1 2 3 4 5 6 7 8 2 10 12\n");
	rig_passes(&sys_diskstats, s, 1);
	assert_true(rig_has("extra diskstats sdb in_flight 2"));
	assert_true(rig_has("extra diskstats sdb time_in_queue 12"));
	assert_true(rig_has("extra diskstats sda in_flight 0"));
	assert_null(strstr(said, "extra diskstats sda io_ticks"));
	rig_passes(&sys_diskstats, s, 1);
	assert_null(strstr(said, "extra diskstats sda"));
	rig_close(&sys_diskstats, s);
}

FIXTURE_TEST(disks_of_another_format_are_left_out)
{
	rig_file("diskstats", "8 0 sda 1 2 3\n8 1\n\n8 2 sdc 1 2 x 4 5 6 7 8 9 10 11\n"
			      "8 3 sdd 1 2 3 4 5 6 7 8 9 10 11\n8 4 sde 1 2 3 4 5 6 7 8 9 10 1");
	rig_poll(&sys_diskstats);
	assert_true(rig_has("disk sdd 2=3 3=4 4=7 5=8"));
	assert_int_equal(rig_lines(), 2 + 7);
	assert_non_null(strstr(said, "failed diskstats "));
}

/* A machine without disks has an empty one: there is nothing to say at each tick. */
FIXTURE_TEST(a_file_that_is_empty_or_not_there)
{
	void *s = rig_open(&sys_diskstats);

	rig_passes(&sys_diskstats, s, 1);
	assert_int_equal(rig_lines(), 1);
	rig_passes(&sys_diskstats, s, 20);
	assert_int_equal(fake.n, 0);
	rig_close(&sys_diskstats, s);
	rig_file("diskstats", "");
	s = rig_open(&sys_diskstats);
	rig_passes(&sys_diskstats, s, 1);
	rig_passes(&sys_diskstats, s, 20);
	assert_int_equal(fake.n, 0);
	rig_close(&sys_diskstats, s);
}
