/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <link.h>

#include "unit/test.h"

/* The ELF file of the test program itself. */

/* Returns its bytes, which the caller frees. */
static inline char *own_bytes(size_t *ret_len)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret_len = (size_t)st.st_size;
	bytes = malloc(*ret_len);
	assert_int_equal(read(fd, bytes, *ret_len), *ret_len);
	close(fd);
	return bytes;
}

static inline int own_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1; /* the program is the first one */
}

/* The address in the file of what is there in memory. */
static inline uint64_t own_address(const void *at)
{
	uint64_t base = 0;

	dl_iterate_phdr(own_base, &base);
	return (uint64_t)(uintptr_t)at - base;
}
