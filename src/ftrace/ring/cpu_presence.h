/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The CPUs that are in the machine, on or off: the kernel has a ring for every one that could ever
 * be plugged in, which may be hundreds more. By sys/devices/system/cpu/present; where that cannot
 * be read, all are taken to be there.
 */
struct cpu_presence {
	char list[4096]; /* "0-3,8"; empty: not to be had */
};

/* Gives whether the list is another than it was; zeroed memory before the first time. */
bool cpu_presence_read(struct cpu_presence *p, const char *sys_root);
bool cpu_presence_has(const struct cpu_presence *p, uint32_t cpu);
