/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Maps of the kernel, read. Of a per-CPU map a value is n_cpus values, each rounded up to 8 bytes,
 * in the order of CPUs.
 */

/* All values of an array's only element: n_cpus (1: not per CPU) of value_size. 0 or -errno. */
int map_read_one(int fd, void *ret_values);
/* An array of n values of value_size bytes, not per CPU. 0 or -errno. */
int map_read_array(int fd, uint32_t n, size_t value_size, void *ret_values);
