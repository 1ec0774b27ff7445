/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* Folders of devices in /sys, which come, go, and fail one by one. */

static void put_zone(unsigned i, const char *type, const char *temp)
{
	proc_put(type, strlen(type), "class/thermal/thermal_zone%u/type", i);
	proc_put(temp, strlen(temp), "class/thermal/thermal_zone%u/temp", i);
}

FIXTURE_TEST(below_zero_there_is_the_counter_track)
{
	put_zone(0, "soc\n", "-12345\n");
	put_zone(1, "soc\n", "-0\n");
	put_zone(2, "odd", "41999");
	rig_poll(&sys_thermal);
	assert_true(rig_has("extra thermal soc (thermal_zone0) -12345"));
	assert_true(rig_has("extra thermal soc (thermal_zone1) 0"));
	assert_true(rig_has("thermal thermal_zone1 0 soc"));
	assert_true(rig_has("thermal thermal_zone2 41 odd"));
	assert_int_equal(rig_lines(), 5);
}

FIXTURE_TEST(one_that_fails_is_missing_alone)
{
	put_zone(0, "a\n", "warm\n");
	put_zone(1, "b\n", "20000\n");
	put_zone(2, "c\n", "");
	rig_poll(&sys_thermal);
	assert_true(rig_has("thermal thermal_zone1 20 b"));
	assert_non_null(strstr(said, "failed thermal "));
	assert_int_equal(rig_lines(), 3);
}

FIXTURE_TEST(devices_that_appear_later)
{
	void *s;

	s = rig_open(&sys_devfreq);
	rig_passes(&sys_devfreq, s, 3);
	assert_int_equal(fake.n, 1);
	rig_file("class/devfreq/gpu/cur_freq", "800\n");
	rig_passes(&sys_devfreq, s, 1);
	rig_pass_later(&sys_devfreq, s);
	rig_passes(&sys_devfreq, s, 1);
	assert_true(rig_has("devfreq gpu 800"));
	rig_close(&sys_devfreq, s);
}

FIXTURE_TEST(pressure_of_lines_that_are_all_unknown)
{
	rig_file("pressure/cpu", "half avg10=0.00 total=1\nnone total=2\n");
	rig_file("pressure/io", "some total=5\n");
	rig_file("pressure/memory", "some total=6\n");
	rig_poll(&sys_psi);
	assert_true(rig_has("psi 3 5000") && rig_has("psi 5 6000"));
	/* It is there and tells nothing: that is a failure, of its own file. */
	assert_non_null(strstr(said, "failed psi "));
	assert_non_null(strstr(said, "pressure/cpu"));
	assert_int_equal(rig_lines(), 3);
}
