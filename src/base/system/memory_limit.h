/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Returns how many bytes of memory this process may use: what the machine has, or three quarters of
 * the lowest limit of its memory control group and the groups above it (cgroup v2: memory.max and
 * memory.high; v1: memory.limit_in_bytes), where that is less.
 */
uint64_t memory_limit(void);
