/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Directory of the CPUs, below the root of /sys. */
#define SYS_CPUS "devices/system/cpu"

/* No machine has more CPUs. */
#define SYS_CPUS_MAX 8192

/*
 * Returns the highest id of a CPU that has a directory (online or not), plus one; 0 if there is
 * none.
 */
uint32_t sys_cpus_count(const char *sys_root);

/* Period of the check for added CPUs (hotplug). */
#define SYS_CPUS_LOOK_NS (10 * 1000000000ull)

struct sys_cpus {
	uint32_t n; /* number of CPUs that the owner has room for */
	uint64_t again; /* CLOCK_MONOTONIC of the next check */
};

/*
 * Returns true and *ret_n if there are more CPUs than c->n. It checks at most every
 * SYS_CPUS_LOOK_NS. now: CLOCK_MONOTONIC, ns.
 */
bool sys_cpus_have_grown(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n);
