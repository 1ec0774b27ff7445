/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Returns how many bytes of memory this process may use: the memory of the machine or, if that is
 * less, three quarters of the lowest limit of its memory control group and the groups above it
 * (cgroup v2: memory.max and memory.high; v1: memory.limit_in_bytes). */
uint64_t memory_limit(void);

/* Returns the lowest limit of these control groups, not reduced to three quarters; UINT64_MAX if
 * there is none. proc_cgroup is /proc/self/cgroup; mounts is the directory where control groups are
 * mounted. */
uint64_t memory_limit_of_cgroup(const char *proc_cgroup, const char *mounts);

/* Returns how many bytes of the machine's memory are available without swapping (MemAvailable in
 * meminfo of this /proc); UINT64_MAX if unknown. */
uint64_t memory_available(const char *proc_root);
