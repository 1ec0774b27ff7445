/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of /sys: devices and CPUs that appear, disappear, and fail one by one. */
#include "unit/procfs/sys_rig.h"

#define CPU "devices/system/cpu/cpu"

/* Polls after the time at which a table looks for new files. */
#define assert_later(source, state, want)                                                          \
	do {                                                                                       \
		rig_pass_later(source, state);                                                     \
		rig_passes(source, state, 1);                                                      \
		rig_expect(want, __FILE__, __LINE__);                                              \
	} while (0)

/* ---- thermal zones and devfreq ---- */

static void put_zone(unsigned i, const char *type, const char *temp)
{
	proc_put(type, strlen(type), "class/thermal/thermal_zone%u/type", i);
	proc_put(temp, strlen(temp), "class/thermal/thermal_zone%u/temp", i);
}

FIXTURE_TEST(temperatures_below_zero_are_in_the_counter_track)
{
	put_zone(0, "soc\n", "-12345\n");
	put_zone(1, "soc\n", "-0\n");
	put_zone(2, "odd", "41999");
	put_zone(3, "b\n", "warm\n");
	put_zone(4, "c\n", "");
	put_zone(10, "last\n", "10000\n");
	assert_poll(&sys_thermal,
		    "extra thermal soc (thermal_zone0) -12345\n"
		    "extra thermal soc (thermal_zone1) 0\nextra thermal odd (thermal_zone2) 41999\n"
		    "extra thermal last (thermal_zone10) 10000\nthermal thermal_zone1 0 soc\n"
		    "thermal thermal_zone2 41 odd\nthermal thermal_zone10 10 last\n"
		    "failed thermal\n");
}

FIXTURE_TEST(devices_that_appear_and_disappear)
{
	void *s = rig_open(&sys_devfreq);

	rig_passes(&sys_devfreq, s, 3);
	assert_said("failed devfreq\n");
	rig_file("class/devfreq/gpu/cur_freq", "800\n");
	rig_file("class/devfreq/a2/cur_freq", "2\n");
	rig_file("class/devfreq/a10/cur_freq", "10\n");
	assert_later(&sys_devfreq, s, "devfreq a2 2\ndevfreq a10 10\ndevfreq gpu 800\n");
	proc_remove("class/devfreq/a2");
	rig_file("class/devfreq/a3/cur_freq", "3\n");
	assert_later(&sys_devfreq, s, "devfreq a3 3\ndevfreq a10 10\ndevfreq gpu 800\n");
	rig_close(&sys_devfreq, s);
}

/* ---- frequencies of CPUs ---- */

#define KHZ "/cpufreq/scaling_cur_freq"

/* Values have no id, only an order: a CPU without one is 0, unless none has one. */
FIXTURE_TEST(frequencies_keep_their_places)
{
	void *s;

	rig_file(CPU "0/online", "1\n");
	rig_file("devices/system/cpu/cpufreq/boost", "1\n");
	s = rig_open(&sys_cpufreq);
	rig_passes(&sys_cpufreq, s, 1);
	assert_said("failed cpufreq\n");
	rig_passes(&sys_cpufreq, s, 20); /* without a driver */
	assert_int_equal(fake.n, 0);
	rig_file(CPU "1" KHZ, "1800000\n");
	rig_file(CPU "2" KHZ, "<unknown>\n");
	rig_file(CPU "3" KHZ, "99999999999\n");
	rig_file(CPU "4" KHZ, "");
	rig_passes(&sys_cpufreq, s, 1);
	assert_said("");
	assert_later(&sys_cpufreq, s,
		     "cpufreq 0 0\ncpufreq 1 1800000\ncpufreq 2 0\ncpufreq 3 4294967295\n"
		     "cpufreq 4 0\n");
	/* A value of the pass before does not stay. */
	rig_file(CPU "1" KHZ, "");
	rig_file(CPU "4" KHZ, "600000");
	rig_passes(&sys_cpufreq, s, 1);
	assert_said("cpufreq 0 0\ncpufreq 1 0\ncpufreq 2 0\ncpufreq 3 4294967295\n"
		    "cpufreq 4 600000\n");
	rig_close(&sys_cpufreq, s);
	/* Ids of CPUs have a limit. */
	proc_remove("devices");
	rig_file(CPU "4000000000" KHZ, "1\n");
	rig_file(CPU "8192" KHZ, "1\n");
	assert_poll(&sys_cpufreq, "failed cpufreq\n");
}

FIXTURE_TEST(a_machine_without_a_list_of_cpus)
{
	const struct sys_source *const sources[] = {&sys_cpufreq, &sys_cpuidle};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		void *s = rig_open(sources[i]);

		rig_passes(sources[i], s, 1);
		assert_int_equal(rig_lines(), 1);
		assert_non_null(strstr(said, "/devices/system/cpu 2"));
		rig_passes(sources[i], s, 20);
		assert_int_equal(fake.n, 0);
		rig_close(sources[i], s);
	}
}

/* ---- idle states ---- */

static void put_state(unsigned cpu, unsigned i, const char *name, const char *time)
{
	proc_put(name, strlen(name), CPU "%u/cpuidle/state%u/name", cpu, i);
	proc_put(time, strlen(time), CPU "%u/cpuidle/state%u/time", cpu, i);
}

FIXTURE_TEST(idle_states_of_each_cpu)
{
	void *s = rig_open(&sys_cpuidle);

	rig_passes(&sys_cpuidle, s, 1);
	assert_said("failed cpuidle\n");
	rig_file(CPU "0/online", "1\n"); /* has no states */
	put_state(1, 0, "POLL\n", "7\n");
	put_state(1, 2, "C2\n", "2\n");
	put_state(1, 10, "C10 HLT\n", "18446744073709551615\n"); /* in the order of the numbers */
	put_state(2, 0, "C1\n", "x\n");
	put_state(3, 0, "\n", "5\n");
	put_state(9, 0, "C1\n", "9\n");
	assert_later(&sys_cpuidle, s,
		     "idle 1 POLL 7\nidle 1 C2 2\nidle 1 C10 HLT 18446744073709551615\n"
		     "idle 9 C1 9\n");
	/* A CPU that goes offline is missing as a whole: half of its states would mislead. */
	rig_file(CPU "1/cpuidle/state2/time", "");
	rig_passes(&sys_cpuidle, s, 1);
	assert_said("idle 9 C1 9\n");
	assert_int_equal(poll_state.fds, 1);
	rig_close(&sys_cpuidle, s);
	/* No kernel has more than 10 states. */
	proc_remove("devices");
	for (unsigned i = 0; i < 40; i++)
		put_state(0, i, "S\n", "1\n");
	rig_poll(&sys_cpuidle);
	assert_int_equal(rig_lines(), 32);
}

/* ---- frequencies of GPUs ---- */

#define KGSL "class/kgsl/kgsl-3d0/devfreq/cur_freq"
#define INTEL(card) "class/drm/card" card "/gt_act_freq_mhz"
#define AMD(card) "class/drm/card" card "/device/pp_dpm_sclk"

FIXTURE_TEST(gpus_of_each_driver)
{
	static const char *const invalid[] = {"*\n", "0: Mhz *\n", "0: *\n", "\n \n", "x\ny *\n"};
	void *s = rig_open(&sys_gpufreq);

	rig_passes(&sys_gpufreq, s, 2);
	assert_said("failed gpufreq\n");
	rig_file(KGSL, "585999999\n");
	rig_file(INTEL("0"), "350\n");
	rig_file(INTEL("1"), "fast\n"); /* keeps its place */
	rig_file(AMD("2"), "0: 300Mhz\n1: 1100Mhz *\n");
	rig_file(AMD("3"), "0: 300Mhz\n");
	rig_file(AMD("15"), "0: 500Mhz * \n1: 2000Mhz");
	assert_later(&sys_gpufreq, s,
		     "gpu 0 585\ngpu 1 350\ngpu 2 0\ngpu 3 1100\ngpu 4 0\ngpu 5 500\n");
	rig_close(&sys_gpufreq, s);
	proc_remove("class");
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		rig_file(AMD("3"), invalid[i]);
		assert_poll(&sys_gpufreq, "failed gpufreq\n");
	}
}
