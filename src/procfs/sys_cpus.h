/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Where /sys tells of CPUs, below its root. */
#define SYS_CPUS "devices/system/cpu"

/* More are no machine. */
#define SYS_CPUS_MAX 8192

/* The highest number of a CPU that has a folder (online or not), and one. 0: there is none. */
uint32_t sys_cpus_count(const char *sys_root);
