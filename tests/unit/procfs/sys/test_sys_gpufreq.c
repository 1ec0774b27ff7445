/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_file.h"
#include "unit/procfs/sys_rig.h"

/* The frequency of each GPU, in the words of each driver. */

#define KGSL "class/kgsl/kgsl-3d0/devfreq/cur_freq"
#define INTEL(card) "class/drm/card" card "/gt_act_freq_mhz"
#define AMD(card) "class/drm/card" card "/device/pp_dpm_sclk"

FIXTURE_TEST(gpus_of_each_driver)
{
	rig_file(KGSL, "585999999\n");
	rig_file(INTEL("0"), "350\n");
	rig_file(AMD("2"), "0: 300Mhz\n1: 1100Mhz *\n");
	rig_file(AMD("15"), "0: 500Mhz * \n1: 2000Mhz");
	rig_poll(&sys_gpufreq);
	assert_true(rig_has("gpu 0 585") && rig_has("gpu 1 350") && rig_has("gpu 2 1100"));
	assert_true(rig_has("gpu 3 500"));
	assert_int_equal(rig_lines(), 4);
}

/* One that does not tell has its place, as the values have no other name. */
FIXTURE_TEST(one_that_fails_keeps_its_place)
{
	rig_file(AMD("0"), "0: 300Mhz\n");
	rig_file(INTEL("1"), "fast\n");
	rig_file(AMD("2"), "0: 700Mhz *\n");
	rig_file(INTEL("3"), "18446744073709551616\n");
	rig_poll(&sys_gpufreq);
	assert_true(rig_has("gpu 0 0") && rig_has("gpu 1 0") && rig_has("gpu 2 700"));
	assert_true(rig_has("gpu 3 0"));
	assert_int_equal(rig_lines(), 5);
	assert_non_null(strstr(said, "failed gpufreq "));
}

FIXTURE_TEST(a_table_that_is_no_table)
{
	static const char *const tables[] = {"*\n", "0: Mhz *\n", "0: *\n", "\n \n", "x\ny *\n"};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		rig_file(AMD("3"), tables[i]);
		rig_poll(&sys_gpufreq);
		assert_null(strstr(said, "gpu "));
		assert_int_equal(rig_lines(), 1);
	}
}

FIXTURE_TEST(a_card_may_appear_later)
{
	void *s = rig_open(&sys_gpufreq);

	rig_passes(&sys_gpufreq, s, 2);
	assert_int_equal(rig_lines(), 1); /* that there is none, once */
	rig_file(INTEL("1"), "900\n");
	sys_packet_begin(&poll_state);
	poll_state.now += SYS_FILE_RETRY_NS;
	while (sys_gpufreq.step(s, &poll_state))
		;
	sys_packet_end(&poll_state);
	rig_passes(&sys_gpufreq, s, 1);
	assert_true(rig_has("gpu 0 900"));
	rig_close(&sys_gpufreq, s);
	assert_int_equal(poll_state.fds, 0);
}
