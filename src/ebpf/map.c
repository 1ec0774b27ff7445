/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/mem.h"

int map_read_one(int fd, void *ret_values)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(fd, &zero, ret_values) < 0 ? -errno : 0;
}

static int read_one_by_one(int fd, uint32_t n, size_t value_size, void *ret_values)
{
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_lookup_elem(fd, &i, (char *)ret_values + i * value_size) < 0)
			return -errno;
	return 0;
}

int map_read_array(int fd, uint32_t n, size_t value_size, void *ret_values)
{
	_cleanup_(freep) uint32_t *keys = malloc(n * sizeof(*keys));
	uint32_t got = n, next;

	if (!keys)
		return -ENOMEM;
	/* Before 5.6 there are no batches. */
	if (bpf_map_lookup_batch(fd, NULL, &next, keys, ret_values, &got, NULL) < 0 &&
	    errno != ENOENT)
		return read_one_by_one(fd, n, value_size, ret_values);
	return got == n ? 0 : read_one_by_one(fd, n, value_size, ret_values);
}
