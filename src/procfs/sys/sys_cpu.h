/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Where /sys tells of CPUs, below its root. */
#define SYS_CPUS "devices/system/cpu"

/* More are no machine. */
#define SYS_CPUS_MAX 8192

/* The highest number of a CPU that has a folder (online or not), and one. 0: there is none. */
uint32_t sys_cpus_count(const char *sys_root);

/* The same from time to time: a CPU may be added to a machine that runs. */
#define SYS_CPUS_LOOK_NS (10 * 1000000000ull)

struct sys_cpus {
	uint32_t n; /* as far as the owner has room for them */
	uint64_t again; /* CLOCK_MONOTONIC, before which nobody looks */
};

/* Are there more by now than c->n? Then ret_n is how many. now: CLOCK_MONOTONIC, ns. */
bool sys_cpus_have_grown(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n);
