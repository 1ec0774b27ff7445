/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/data_source_config.pb-c.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_packet.h"
#include "wire/pb_enc.h"

struct sys_source;

/* The state of a table begins with this. */
struct sys_state {
	const struct sys_source *source;
	struct sys_errors errors;
	struct sys_file file; /* file of a table that has only one */
};

/*
 * One table of linux.sys_stats: a file of /proc or a set of files of /sys, with its own period. A
 * poll is a pass of steps. Each step is short enough for a time slice
 * (base/event_loop/time_slice.h), writes what it read, and leaves no message of SysStats open.
 *
 * A table of one file of /proc needs no functions but parse.
 */
struct sys_source {
	const char *name;
	/* offset of its period in Pb__SysStatsConfig: uint32_t, ms; 0 disables the table */
	size_t period;
	size_t size; /* bytes of its state, which is zero before open is called */
	const char *file; /* path in /proc of a table with one file, or NULL */
	bool whole; /* one read returns the whole file: struct sys_file */
	/* Parses the text of the file: see sys_file_poll(). */
	int (*parse)(void *state, struct sys_packet *p, struct span text);
	/* NULL: nothing to do. Called once, before the first step; config is borrowed for the call.
	 * Returns 0, or -errno: close is called then too. */
	int (*open)(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c);
	/* Runs the next step of a pass. Returns false after the last step. NULL: parses the
	 * file. */
	bool (*step)(void *state, struct sys_packet *p);
	/* Frees what the state owns, without the state and its file. NULL: nothing to do. */
	void (*close)(void *state, struct sys_packet *p);
};

/* Returns 0 or -errno. */
int sys_source_open(const struct sys_source *source, struct sys_packet *p,
		    const Pb__SysStatsConfig *c, struct sys_state **ret);
/* Runs the next step of a pass. Returns false after the last step. */
bool sys_source_step(struct sys_state *s, struct sys_packet *p);
/* Frees the state. */
void sys_source_close(struct sys_state *s, struct sys_packet *p);

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
