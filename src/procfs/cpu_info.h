/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pb_enc;

/*
 * The processors of the machine, as one CpuInfo message. A reader takes the position of a Cpu in it
 * for its number, so one that is offline has its empty place.
 *
 * Sources: /proc/cpuinfo; cpu_capacity and cpufreq/scaling_{available,boost}_frequencies of
 * /sys/devices/system/cpu/cpuN. Format: protos/trace/system_info/cpu_info.proto.
 */

/* Processors past this number are left out. */
#define CPU_INFO_MAX 8192

/* Adds the fields of CpuInfo. cpuinfo: the text of /proc/cpuinfo. */
void cpu_info_encode(struct pb_enc *e, const char *cpuinfo, size_t len, const char *sys_root);
