/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "procfs/sys_rig.h"

/* Folders of devices in /sys, which come, go, and fail one by one. */

static void put_zone(unsigned i, const char *type, const char *temp)
{
	proc_put(type, strlen(type), "class/thermal/thermal_zone%u/type", i);
	proc_put(temp, strlen(temp), "class/thermal/thermal_zone%u/temp", i);
}

/* As after ten seconds. */
static void pass_later(const struct sys_source *source, void *state)
{
	uint64_t later = 0;

	rig_passes(source, state, 1);
	for (int i = 0; i < 2; i++) {
		sys_poll_begin(&poll_state);
		later = poll_state.now += 11000000000ull;
		while (source->step(state, &poll_state))
			;
		poll_state.extras.n_fresh = 0;
		sys_poll_end(&poll_state);
	}
	assert_true(later > 0);
}

static void below_zero_there_is_the_counter_track(void **state)
{
	(void)state;
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

static void one_that_fails_is_missing_alone(void **state)
{
	(void)state;
	put_zone(0, "a\n", "warm\n");
	put_zone(1, "b\n", "20000\n");
	put_zone(2, "c\n", "");
	rig_poll(&sys_thermal);
	assert_true(rig_has("thermal thermal_zone1 20 b"));
	assert_non_null(strstr(said, "failed thermal "));
	assert_int_equal(rig_lines(), 3);
}

static void devices_come_later(void **state)
{
	void *s;

	(void)state;
	s = rig_open(&sys_devfreq);
	rig_passes(&sys_devfreq, s, 3);
	assert_int_equal(fake.n, 1);
	rig_file("class/devfreq/gpu/cur_freq", "800\n");
	pass_later(&sys_devfreq, s);
	rig_passes(&sys_devfreq, s, 1);
	assert_true(rig_has("devfreq gpu 800"));
	rig_close(&sys_devfreq, s);
}

static void frequencies_keep_their_places(void **state)
{
	(void)state;
	rig_file("devices/system/cpu/cpu0/online", "1\n");
	rig_file("devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "99999999999\n");
	rig_file("devices/system/cpu/cpufreq/boost", "1\n");
	rig_poll(&sys_cpufreq);
	assert_true(rig_has("cpufreq 0 0") && rig_has("cpufreq 2 0"));
	assert_true(rig_has("cpufreq 3 4294967295"));
	proc_remove("devices/system/cpu/cpu3");
	rig_poll(&sys_cpufreq);
	assert_null(strstr(said, "cpufreq 0 0"));
}

static void no_cpu_with_states_is_no_end(void **state)
{
	(void)state;
	rig_file("devices/system/cpu/cpu0/online", "1\n");
	rig_file("devices/system/cpu/cpu1/cpuidle/state0/name", "C1\n");
	rig_file("devices/system/cpu/cpu1/cpuidle/state0/time", "18446744073709551615\n");
	rig_file("devices/system/cpu/cpu2/cpuidle/state0/name", "C1\n");
	rig_file("devices/system/cpu/cpu2/cpuidle/state0/time", "x\n");
	rig_poll(&sys_cpuidle);
	assert_true(rig_has("idle 1 C1 18446744073709551615"));
	assert_int_equal(rig_lines(), 2);
}

static void gpus_of_each_driver(void **state)
{
	(void)state;
	rig_file("class/drm/card0/gt_act_freq_mhz", "350\n");
	rig_file("class/drm/card2/device/pp_dpm_sclk", "0: 300Mhz\n1: 1100Mhz *\n");
	rig_file("class/drm/card3/device/pp_dpm_sclk", "0: 300Mhz\n");
	rig_poll(&sys_gpufreq);
	assert_true(rig_has("gpu 0 350") && rig_has("gpu 1 1100") && rig_has("gpu 2 0"));
	proc_remove("class");
	rig_file("class/drm/card3/device/pp_dpm_sclk", "0: Mhz *\n");
	rig_poll(&sys_gpufreq);
	assert_null(strstr(said, "gpu "));
}

static void pressure_with_and_without_all_its_lines(void **state)
{
	(void)state;
	rig_file("pressure/cpu", "some avg10=0.00 total=5\nhalf total=1\n");
	rig_file("pressure/io", "some avg10=0.00\nfull total=7\n");
	rig_file("pressure/irq", "full total=18446744073709551\n");
	rig_poll(&sys_psi);
	assert_true(rig_has("psi 1 5000") && rig_has("psi 4 7000"));
	assert_true(rig_has("extra psi psi.irq.full 9223372036854775807"));
	/* io has a line of another format, memory is not there. */
	assert_int_equal(rig_lines(), 5);
}

static void pressure_of_lines_that_are_all_unknown(void **state)
{
	(void)state;
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

static void lines_of_zones_and_disks(void **state)
{
	(void)state;
	rig_file("buddyinfo",
		 "Node 0, zone DMA 1 99999999999\nZone\nNode 1, zone\nNode 2, zone X 1 y\n");
	rig_poll(&sys_buddyinfo);
	assert_true(rig_has("buddy 0 DMA 1 4294967295"));
	assert_int_equal(rig_lines(), 3);
	rig_file("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3\n"
			      "8 2 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n");
	rig_poll(&sys_diskstats);
	assert_true(rig_has("disk sda 2=3 3=4 4=7 5=8"));
	assert_true(rig_has("disk sdb 2=3 3=4 4=7 5=8 6=14 7=15 8=16 9=17"));
	assert_int_equal(rig_lines(), 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(below_zero_there_is_the_counter_track, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(one_that_fails_is_missing_alone, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(devices_come_later, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(frequencies_keep_their_places, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(no_cpu_with_states_is_no_end, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(gpus_of_each_driver, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(pressure_with_and_without_all_its_lines, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(pressure_of_lines_that_are_all_unknown, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(lines_of_zones_and_disks, rig_setup, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
