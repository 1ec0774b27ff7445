/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"

struct pb_enc;

/*
 * Writes the processors as one CpuInfo message, one processor a step. A reader takes the position
 * of a Cpu in the message as its id, so an offline CPU has an entry too, with its data from /sys.
 *
 * Sources: /proc/cpuinfo; in /sys/devices/system/cpu: present, cpuN/cpu_capacity, and in
 * cpuN/cpufreq scaling_{available,boost}_frequencies, else stats/time_in_state, else
 * cpuinfo_{min,max}_freq. Format: protos/trace/system_info/cpu_info.proto.
 */

/* Processors above this id are skipped. */
#define CPU_INFO_MAX 8192

struct cpu_info {
	struct span text; /* borrowed, as all below; the text that was not parsed yet */
	const char *sys_root;
	struct span model; /* model name that is stated once for all processors */
	struct span words; /* feature words of the previous processor */
	uint32_t next; /* the id of the next entry */
	uint32_t found; /* processors found in the text */
	uint32_t end; /* highest present id plus one */
	uint64_t unreadable; /* existing files of /sys that could not be read */
	int error; /* -errno of the first of these files */
};

/* Begins with the first processor. cpuinfo: text of /proc/cpuinfo, borrowed until the last step. */
void cpu_info_begin(struct cpu_info *info, const char *cpuinfo, size_t len, const char *sys_root);
/* Writes the next processor, or skips a part of the text without one. Returns false at the end. */
bool cpu_info_write_next(struct cpu_info *info, struct pb_enc *e);
