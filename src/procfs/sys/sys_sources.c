/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_source.h"

/* Small files first; those that a pass may be cut in are last. */
const struct sys_source *const sys_sources[] = {
	&sys_stat,	&sys_meminfo, &sys_vmstat,  &sys_psi,	  &sys_buddyinfo,
	&sys_diskstats, &sys_cpufreq, &sys_devfreq, &sys_gpufreq, &sys_thermal,
	&sys_cpuidle,	&sys_slab,    &sys_files,   NULL,
};
