/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_sys_polls.h"

/* Every table of /proc that linux.sys_stats reads. */

static const char *const paths[] = {
	"meminfo",	   "vmstat",	   "stat",	   "buddyinfo",
	"diskstats",	   "slabinfo",	   "pressure/cpu", "pressure/io",
	"pressure/memory", "pressure/irq", NULL,
};

static const struct sys_source *const sources[] = {
	&sys_meminfo,	&sys_vmstat, &sys_stat, &sys_buddyinfo,
	&sys_diskstats, &sys_slab,   &sys_psi,	NULL,
};
