/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/merge/merge_trace.h"
#include "base/core/err.h"
#include "cli/trace/trace_input.h"

/* Merges trace files of several machines into one file. */

struct merge_file {
	const char *path; /* borrowed */
	char *machine; /* owned */
	bool is_named; /* the user has named the machine */
	/* Borrowed: the clocks of this machine at one moment, with the time of day of a clock that
	 * all files have in common. NULL: those of its first clock snapshot. */
	const struct merge_clocks *clocks;
	struct trace_bytes_map bytes;
};

/* Zero-initialise; merge_files_deinit frees. */
struct merge_files {
	const char *out; /* borrowed; "-": standard output; *.tar: an archive of the files */
	bool force; /* overwrite existing files */
	struct merge_file files[MERGE_INPUTS_MAX];
	size_t n;
};

/* Writes the merged trace, or the archive, which ignores `clocks`. Logs what it leaves out. Sets
 * *ret_bytes to the size of a trace; the size of an archive is not reported. Returns 0, or -errno
 * and sets e. */
int merge_files_write(struct merge_files *o, uint64_t *ret_bytes, struct err_text *e);
void merge_files_deinit(struct merge_files *o);
