/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps ('m') and jitdumps ('d'). The bytes are read in two parts, as from a file that grows:
 * names have a NUL and a limit, functions are sorted, and the memory is that of the limit.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/files/jit_names.h"

#define LIMIT (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_names j = {0};
	int fd = size > 1 ? memfd_create("jit", MFD_CLOEXEC) : -1;
	size_t part = size / 2;
	bool moved;

	if (fd < 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		const uint8_t *from = i ? data + 1 + part : data + 1;
		size_t len = i ? size - 1 - part : part;

		assert(write(fd, from, len) == (ssize_t)len);
		(void)(data[0] == 'm' ? jit_names_read_map(&j, fd, LIMIT, &moved)
				      : jit_names_read_dump(&j, fd, LIMIT, &moved));
		assert(j.n == j.n_sorted && jit_names_bytes(&j) <= LIMIT);
	}
	for (size_t n = 0; n < j.n; n++) {
		const char *name = jit_names_find(&j, j.functions[n].start);

		assert(j.functions[n].start < j.functions[n].end &&
		       j.functions[n].name < j.n_bytes);
		assert(n == 0 || j.functions[n - 1].start <= j.functions[n].start);
		assert(!name || (*name && strlen(name) <= JIT_NAME_MAX));
	}
	jit_names_deinit(&j);
	close(fd);
	return 0;
}
