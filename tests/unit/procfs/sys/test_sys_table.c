/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* /proc/meminfo and /proc/vmstat: lines by their place and name, counters by their number. */

FIXTURE_TEST(order_and_names_may_change)
{
	void *s;

	s = rig_open(&sys_vmstat);
	rig_file("vmstat", "nr_free_pages 1\npgfault 2\nnr_mlock 3\n");
	rig_passes(&sys_vmstat, s, 1);
	assert_true(rig_has("vmstat 1 1") && rig_has("vmstat 49 2") && rig_has("vmstat 8 3"));
	/* One came in between, one went, one has a name that begins like another. */
	rig_file("vmstat", "nr_free_pages 4\nnr_free_pages_of 5\npgfault 6\n");
	rig_passes(&sys_vmstat, s, 2);
	assert_true(rig_has("vmstat 1 4") && rig_has("vmstat 49 6"));
	assert_true(rig_has("extra vmstat nr_free_pages_of 5"));
	assert_int_equal(rig_lines(), 6);
	rig_close(&sys_vmstat, s);
}

FIXTURE_TEST(only_listed_counters)
{
	static Pb__VmstatCounters listed[] = {49, 4711, -3, 0, 4711, 1};

	rig_file("vmstat", "nr_free_pages 1\npgfault 2\nnr_mlock 3\nnew 4\n");
	stats.vmstat_counters = listed;
	stats.n_vmstat_counters = 6;
	rig_poll(&sys_vmstat);
	assert_true(rig_has("vmstat 1 1") && rig_has("vmstat 49 2"));
	assert_int_equal(rig_lines(), 2);
	/* None that is known is none, not all. */
	listed[0] = listed[5] = 4711;
	rig_poll(&sys_vmstat);
	assert_int_equal(rig_lines(), 0);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(numbers_of_64_bits)
{
	rig_file("vmstat", "pgfault 18446744073709551615\nnew 18446744073709551615\n"
			   "pgmajfault 18446744073709551616\nnr_mlock 7\n");
	rig_poll(&sys_vmstat);
	assert_true(rig_has("vmstat 49 18446744073709551615"));
	assert_true(rig_has("extra vmstat new 9223372036854775807"));
	/* What does not fit is missing, what follows is there. */
	assert_true(rig_has("vmstat 8 7"));
	assert_non_null(strstr(said, "failed vmstat "));
	assert_int_equal(rig_lines(), 4);
}

FIXTURE_TEST(a_truncated_number_is_skipped)
{
	rig_file("meminfo", "MemTotal:  100 kB\nMemFree: 12");
	rig_poll(&sys_meminfo);
	assert_true(rig_has("meminfo 1 100"));
	assert_int_equal(rig_lines(), 2);
	assert_non_null(strstr(said, "failed meminfo "));
}

FIXTURE_TEST(lines_of_another_format_are_left_out)
{
	void *s = rig_open(&sys_meminfo);

	rig_file("meminfo", "\n:\nMemTotal\nMemFree: much kB\nBuffers: 5 kB\n 3\nCached: 6 kB\n"
			    "MemAvailable: -4 kB\nShmem: 0x10 kB\n");
	for (int i = 0; i < 3; i++) {
		rig_passes(&sys_meminfo, s, 1);
		assert_true(rig_has("meminfo 4 5") && rig_has("meminfo 5 6"));
	}
	/* Told the first time only. */
	assert_int_equal(rig_lines(), 2);
	assert_int_equal(poll_state.errors->count, 3);
	rig_close(&sys_meminfo, s);
}

/* A number above the limit of the table (SYS_TABLE_NUMBERS) would be recorded nowhere. */
TEST(numbers_fit_the_table)
{
	const ProtobufCEnumDescriptor *const all[] = {&pb__meminfo_counters__descriptor,
						      &pb__vmstat_counters__descriptor};

	for (unsigned i = 0; i < 2; i++)
		for (unsigned n = 0; n < all[i]->n_values; n++)
			assert_in_range(all[i]->values[n].value, 0, 255);
}
