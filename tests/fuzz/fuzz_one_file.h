/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/../unit/procfs/fake_proc.h"

/*
 * A directory (proc_root) with one file under many names, for what reads files by itself. Include
 * it once in a fuzzer.
 */

static int one_file = -1;

static inline void one_file_remove(void)
{
	proc_remove_all();
}

/* paths: below proc_root, NULL at the end. The directory goes when the program exits. */
static inline void one_file_new(const char *const *paths)
{
	char first[256], other[256];

	proc_new();
	atexit(one_file_remove);
	snprintf(first, sizeof(first), "%s/%s", proc_root, paths[0]);
	for (size_t i = 0; paths[i]; i++) {
		proc_put("", 0, "%s", paths[i]);
		if (i == 0)
			continue;
		snprintf(other, sizeof(other), "%s/%s", proc_root, paths[i]);
		if (unlink(other) < 0 || link(first, other) < 0)
			abort();
	}
	one_file = open(first, O_WRONLY | O_CLOEXEC);
	if (one_file < 0)
		abort();
}

static inline void one_file_put(const uint8_t *data, size_t size)
{
	if (ftruncate(one_file, 0) < 0 || pwrite(one_file, data, size, 0) != (ssize_t)size)
		abort();
}
