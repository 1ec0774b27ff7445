/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"

struct pb_enc;

/*
 * The processors of the machine, as one CpuInfo message, one processor a step. A reader takes the
 * position of a Cpu in it for its number, so one that is offline has its place, and in it what /sys
 * says of it.
 *
 * Sources: /proc/cpuinfo; of /sys/devices/system/cpu: present, cpuN/cpu_capacity, and of
 * cpuN/cpufreq scaling_{available,boost}_frequencies, or else stats/time_in_state, or else
 * cpuinfo_{min,max}_freq. Format: protos/trace/system_info/cpu_info.proto.
 */

/* Processors past this number are left out. */
#define CPU_INFO_MAX 8192

struct cpu_info {
	struct span text; /* borrowed, as are all below; what was not read yet */
	const char *sys_root;
	struct span model; /* that stands once for all */
	struct span words; /* features of the processor before */
	uint32_t next; /* the place that comes next */
	uint32_t found; /* in the text */
	uint32_t end; /* one past the last that is present */
	uint64_t unreadable; /* files of /sys that are there and could not be read */
	int error; /* of the first of them */
};

/* cpuinfo: the text of /proc/cpuinfo, borrowed until the last step. */
void cpu_info_begin(struct cpu_info *info, const char *cpuinfo, size_t len, const char *sys_root);
/* Adds a processor, or finds nothing in a part of the text. False: it was the end. */
bool cpu_info_step(struct cpu_info *info, struct pb_enc *e);
