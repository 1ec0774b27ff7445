/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"
#include "unit/client/read_tracks.h"
#include "wire/meminfo_names.h"

/* Which names of /proc/meminfo and /proc/vmstat have which number, and what the others become. */

/* The first and the last, and those whose names have more than letters. What has no number is in
 * bytes where the kernel says kB. */
FIXTURE_TEST(meminfo_has_its_numbers)
{
	rig_file("meminfo", "MemTotal:       8052220 kB\nActive(anon):   12 kB\n"
			    "Committed_AS:   34 kB\nVmallocTotal:   34359738367 kB\n"
			    "Gpu:     5 kB\nION_heap_pool:  6 kB\nHugePages_Total:       0\n"
			    "DirectMap1G:     1048576 kB\nZswapped: 7 kB\nmemtotal: 9 kB\n");
	rig_poll(&sys_meminfo);
	assert_true(rig_has("meminfo 1 8052220") && rig_has("meminfo 9 12"));
	assert_true(rig_has("meminfo 28 34") && rig_has("meminfo 29 34359738367"));
	assert_true(rig_has("meminfo 34 5") && rig_has("meminfo 38 6"));
	assert_true(rig_has("extra meminfo HugePages_Total 0"));
	assert_true(rig_has("extra meminfo DirectMap1G 1073741824"));
	assert_true(rig_has("extra meminfo Zswapped 7168") &&
		    rig_has("extra meminfo memtotal 9216"));
	assert_int_equal(rig_lines(), 10);
}

/* A counter whose number has no name is recorded without the number, or dropped by sonda sql. */
TEST(each_number_of_meminfo_has_a_name)
{
	const ProtobufCEnumDescriptor *numbers = &pb__meminfo_counters__descriptor;

	assert_int_equal(numbers->n_values, ARRAY_SIZE(meminfo_names));
	for (unsigned i = 1; i < numbers->n_values; i++) {
		assert_int_equal(numbers->values[i].value, i);
		assert_non_null(meminfo_names[i]);
	}
}

FIXTURE_TEST(vmstat_has_its_numbers)
{
	char longest[128] = "";

	memset(longest, 'n', 100);
	strcpy(longest + 100, " 3\n");
	rig_file("vmstat", "nr_free_pages 4294967296\nworkingset_restore_file 2\n"
			   "unspecified 5\nnuma_hit 6\nnr_hugetlb 7\n");
	rig_poll(&sys_vmstat);
	assert_true(rig_has("vmstat 1 4294967296") && rig_has("vmstat 188 2"));
	/* The name of number 0, as which a reader takes "none". */
	assert_true(rig_has("extra vmstat unspecified 5"));
	assert_true(rig_has("extra vmstat numa_hit 6") && rig_has("extra vmstat nr_hugetlb 7"));
	assert_int_equal(rig_lines(), 5);
	rig_file("vmstat", longest);
	rig_poll(&sys_vmstat);
	assert_int_equal(rig_lines(), 1);
}

/* When they end, what only grows keeps its last value, and what was there is there no more. */
FIXTURE_TEST(monotonic_counters_are_marked)
{
	struct extra_counters *x = &poll_state.extras;

	rig_file("vmstat", "numa_hit 6\nnr_hugetlb 7\n");
	rig_poll(&sys_vmstat);
	assert_int_equal(x->n, 2);
	tracks_begin(x->tracks, poll_state.begun + 1);
	for (size_t i = 0; i < x->n; i++)
		tracks_remove(x->tracks, x->all[i].track);
	tracks_end(x->tracks);
	read_tracks();
	assert_int_equal(read_last("vmstat/numa_hit"), 6);
	assert_int_equal(read_last("vmstat/nr_hugetlb"), 0);
}

FIXTURE_TEST(files_that_are_not_there)
{
	rig_poll(&sys_meminfo);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed meminfo "));
	rig_file("vmstat", "");
	rig_poll(&sys_vmstat);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed vmstat "));
}
