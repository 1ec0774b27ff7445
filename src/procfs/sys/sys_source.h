/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/data_source_config.pb-c.h"
#include "procfs/sys/sys_packet.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/*
 * One table of linux.sys_stats: a file of /proc or a set of files of /sys, with its own period. A
 * poll is a pass of steps. Each step is short enough for a time slice
 * (base/event_loop/time_slice.h), writes what it read, and leaves no message of SysStats open.
 */
struct sys_source {
	const char *name;
	/* offset of its period in Pb__SysStatsConfig: uint32_t, ms; 0 disables the table */
	size_t period;
	/*
	 * Called once, before the first step; config is borrowed for the call. Returns 0 or -errno.
	 */
	int (*open)(struct sys_packet *p, const Pb__SysStatsConfig *c, void **ret_state);
	/* Runs the next step of a pass. Returns false after the last step. */
	bool (*step)(void *state, struct sys_packet *p);
	void (*close)(void *state, struct sys_packet *p);
};

extern const struct sys_source sys_meminfo, sys_vmstat, sys_stat, sys_buddyinfo, sys_diskstats,
	sys_psi, sys_slab, sys_cpufreq, sys_cpuidle, sys_thermal, sys_devfreq, sys_gpufreq,
	sys_files;

/* All tables, terminated by NULL. */
extern const struct sys_source *const sys_sources[];

/* Helpers that write small messages of SysStats. */

_Static_assert(PB_SYS_STATS_MEMINFO_VALUE_KEY == 1 && PB_SYS_STATS_MEMINFO_VALUE_VALUE == 2 &&
		       PB_SYS_STATS_VMSTAT_VALUE_KEY == 1 && PB_SYS_STATS_VMSTAT_VALUE_VALUE == 2 &&
		       PB_SYS_STATS_INTERRUPT_COUNT_IRQ == 1 &&
		       PB_SYS_STATS_INTERRUPT_COUNT_COUNT == 2 &&
		       PB_SYS_STATS_PSI_SAMPLE_RESOURCE == 1 &&
		       PB_SYS_STATS_PSI_SAMPLE_TOTAL_NS == 2,
	       "all these are {1: which, 2: how much}");

/* Writes a message {1: which, 2: v}; a packet has hundreds of them. */
static inline void sys_put_pair(struct pb_enc *e, uint32_t field, uint64_t which, uint64_t v)
{
	uint8_t buf[2 * (1 + 10)], *p = buf;

	*p++ = (uint8_t)pb_tag(1, PB_WIRE_VARINT);
	p = pb_put_varint(p, which);
	*p++ = (uint8_t)pb_tag(2, PB_WIRE_VARINT);
	p = pb_put_varint(p, v);
	pb_enc_bytes(e, field, buf, (size_t)(p - buf));
}

/* Clamps v to the range of counter tracks, which are signed. */
static inline int64_t sys_clamp_i64(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* Clamps v to 32 bits. */
static inline uint32_t sys_clamp_u32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}
