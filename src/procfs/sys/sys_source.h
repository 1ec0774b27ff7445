/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/data_source_config.pb-c.h"
#include "base/text/span.h"
#include "procfs/sys/sys_packet.h"

/*
 * One source of linux.sys_stats: a file of /proc, or a family of files of /sys, with a period of
 * its own. A poll is a pass of steps; each is short enough for a turn (base/event_loop/time_slice.h), writes what
 * it read, and leaves no field of SysStats half written.
 */
struct sys_source {
	const char *name;
	size_t period; /* offset of its period in Pb__SysStatsConfig: uint32_t, ms, 0 is off */
	/* Once, before the first step; config is borrowed for the call. 0 or -errno. */
	int (*open)(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state);
	/* The next step of a pass; false: that was its last one. */
	bool (*step)(void *state, struct sys_poll *p);
	/* A text as the source's file has it, whoever it comes from: writes what it says. 0, or
	 * -EBADMSG: some of it was not understood and is left out. */
	int (*parse)(void *state, struct sys_poll *p, struct span text);
	void (*close)(void *state, struct sys_poll *p);
};

extern const struct sys_source sys_meminfo, sys_vmstat, sys_stat, sys_buddyinfo, sys_diskstats,
	sys_psi, sys_slab, sys_cpufreq, sys_cpuidle, sys_thermal, sys_devfreq, sys_gpufreq,
	sys_files;

/* All of them, NULL at the end. */
extern const struct sys_source *const sys_sources[];
