/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* scaling_cur_freq of CPUs that are there, off, of no driver, or gone in between. */

#define CPU "devices/system/cpu/cpu"
#define KHZ "/cpufreq/scaling_cur_freq"

FIXTURE_TEST(frequencies_keep_their_places)
{
	rig_file(CPU "0/online", "1\n");
	rig_file(CPU "3" KHZ, "99999999999\n");
	rig_file("devices/system/cpu/cpufreq/boost", "1\n");
	rig_poll(&sys_cpufreq);
	assert_true(rig_has("cpufreq 0 0") && rig_has("cpufreq 1 0") && rig_has("cpufreq 2 0"));
	assert_true(rig_has("cpufreq 3 4294967295"));
	proc_remove(CPU "3");
	rig_poll(&sys_cpufreq);
	assert_null(strstr(said, "cpufreq 0 0"));
}

FIXTURE_TEST(cpus_that_are_added)
{
	void *s;

	rig_file(CPU "0" KHZ, "1000\n");
	s = rig_open(&sys_cpufreq);
	rig_passes(&sys_cpufreq, s, 1);
	assert_int_equal(rig_lines(), 1);
	rig_file(CPU "1" KHZ, "2000\n");
	rig_file(CPU "3" KHZ, "3000\n");
	rig_passes(&sys_cpufreq, s, 1);
	assert_int_equal(rig_lines(), 1);
	rig_pass_later(&sys_cpufreq, s);
	rig_passes(&sys_cpufreq, s, 1);
	assert_true(rig_has("cpufreq 0 1000") && rig_has("cpufreq 1 2000"));
	assert_true(rig_has("cpufreq 2 0") && rig_has("cpufreq 3 3000"));
	rig_close(&sys_cpufreq, s);
}

FIXTURE_TEST(one_that_cannot_be_understood_is_0)
{
	rig_file(CPU "0" KHZ, "<unknown>\n");
	rig_file(CPU "1" KHZ, "1800000\n");
	rig_file(CPU "2" KHZ, "");
	rig_file(CPU "3" KHZ, "600000");
	rig_poll(&sys_cpufreq);
	assert_true(rig_has("cpufreq 0 0") && rig_has("cpufreq 1 1800000"));
	assert_true(rig_has("cpufreq 2 0") && rig_has("cpufreq 3 600000"));
	/* Both failures are one row, of the first. */
	assert_int_equal(rig_lines(), 5);
	assert_non_null(strstr(said, "failed cpufreq "));
	assert_non_null(strstr(said, "/cpu0" KHZ));
}

/* A value of the pass before is not written again for it. */
FIXTURE_TEST(a_removed_disk_is_0_from_then_on)
{
	void *s;

	rig_file(CPU "0" KHZ, "1000\n");
	rig_file(CPU "1" KHZ, "2000\n");
	s = rig_open(&sys_cpufreq);
	rig_passes(&sys_cpufreq, s, 1);
	assert_true(rig_has("cpufreq 0 1000") && rig_has("cpufreq 1 2000"));
	rig_file(CPU "1" KHZ, "");
	rig_passes(&sys_cpufreq, s, 1);
	assert_true(rig_has("cpufreq 0 1000") && rig_has("cpufreq 1 0"));
	rig_file(CPU "1" KHZ, "2100\n");
	rig_passes(&sys_cpufreq, s, 1);
	assert_true(rig_has("cpufreq 1 2100"));
	rig_close(&sys_cpufreq, s);
}

/* Zeros would say that the CPUs stand still. */
FIXTURE_TEST(without_a_driver_there_is_no_packet)
{
	void *s;

	rig_file(CPU "0/online", "1\n");
	s = rig_open(&sys_cpufreq);
	rig_passes(&sys_cpufreq, s, 1);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed cpufreq "));
	rig_passes(&sys_cpufreq, s, 20);
	assert_int_equal(fake.n, 0);
	rig_close(&sys_cpufreq, s);
}

FIXTURE_TEST(a_machine_without_a_list_of_cpus)
{
	const struct sys_source *const sources[] = {&sys_cpufreq, &sys_cpuidle};

	for (int i = 0; i < 2; i++) {
		void *s = rig_open(sources[i]);

		rig_passes(sources[i], s, 1);
		assert_int_equal(rig_lines(), 1);
		assert_non_null(strstr(said, "/devices/system/cpu 2"));
		/* Said once, and no packet at each tick. */
		rig_passes(sources[i], s, 20);
		assert_int_equal(fake.n, 0);
		rig_close(sources[i], s);
	}
}
