/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_sys_polls.h"

/*
 * Every small file that linux.sys_stats reads of a device: of /sys, and the pressure of each
 * resource.
 */

static const char *const paths[] = {
	"pressure/cpu",
	"pressure/io",
	"pressure/memory",
	"pressure/irq",
	"class/thermal/thermal_zone0/type",
	"class/thermal/thermal_zone0/temp",
	"class/devfreq/bus/cur_freq",
	"class/kgsl/kgsl-3d0/devfreq/cur_freq",
	"class/drm/card0/gt_act_freq_mhz",
	"class/drm/card1/device/pp_dpm_sclk",
	"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
	"devices/system/cpu/cpu0/cpuidle/state0/name",
	"devices/system/cpu/cpu0/cpuidle/state0/time",
	NULL,
};

static const struct sys_source *const sources[] = {
	&sys_psi, &sys_thermal, &sys_devfreq, &sys_gpufreq, &sys_cpufreq, &sys_cpuidle, NULL,
};
