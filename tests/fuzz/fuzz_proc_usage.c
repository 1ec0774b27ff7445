/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "procfs/process/proc_parse.h"

/* The same bytes as /proc/PID/io, cgroup and schedstat. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct proc_schedstat stat;
	struct proc_io io;
	struct span path;

	if (!data)
		return 0;
	if (proc_io_parse(text, size, &io) == 0) {
		check(io.has && !(io.has >> PROC_IO_KEYS));
		for (unsigned k = 0; k < PROC_IO_KEYS; k++)
			check(io.v[k] <= INT64_MAX);
	}
	if (proc_schedstat_parse(text, size, &stat) == 0)
		check(stat.run_ns <= INT64_MAX && stat.wait_ns <= INT64_MAX);
	if (proc_cgroup_parse(text, size, &path) == 0) {
		check(path.len > 0 && path.p[0] == '/');
		check(path.p > text && path.p + path.len <= text + size);
		check(!memchr(path.p, '\n', path.len));
	}
	return 0;
}
