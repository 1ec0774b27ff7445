/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The entries of a /sys directory that begin with a prefix, sorted by the number in their names.
 * Zero-initialise.
 */

/* Further names are dropped. */
#define SYS_NAMES_MAX 8192

struct sys_names {
	char **names; /* owned, as are the strings */
	size_t n;
};

/* digits: takes only names that are the prefix and a number. Returns 0, or -errno with s empty. */
int sys_names_read(struct sys_names *s, const char *folder, const char *prefix, bool digits);
void sys_names_deinit(struct sys_names *s);
bool sys_names_equal(const struct sys_names *a, const struct sys_names *b);

/* Directory of the CPUs, below the root of /sys. */
#define SYS_CPUS "devices/system/cpu"
/* No machine has more CPUs. */
#define SYS_CPUS_MAX 8192

/* The CPUs that a table of one file for each CPU knows. Zero-initialise. */
struct sys_cpus {
	uint32_t n; /* number of CPUs that the owner has room for */
	uint64_t again; /* CLOCK_MONOTONIC of the next check */
};

/*
 * Returns true and *ret_n, the highest id of a CPU (online or not) plus one, if there are more CPUs
 * than c->n. It checks at most every ten seconds. now: CLOCK_MONOTONIC, ns.
 */
bool sys_cpus_rescan(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n);
