/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/perf_event.h>

#include "stacks/frames/address_spaces.h"

/* Requests unwind rows for the files that need them: those that processes map from now on, and
 * those that the BPF program of a data source has missed. */
/* The mappings of a process, n of them, are requested again after n / 16 + UNWIND_FOLLOW_MS at the
 * earliest. */
#define UNWIND_FOLLOW_MS 5

/* Requests the rows of a file that the process maps, if it may have some. path has m->path_len
 * bytes, and need not end with a NUL. */
void unwind_follow_mapping(int32_t pid, const struct file_mapping *m, const char *path);
/* To be called for each record of a perf event, so that rows are there before the first stack. */
void unwind_follow_record(const struct perf_event_header *h);
/* The program has missed a file in a stack of the process, at `now` ns: one of those with these n
 * addresses. Then others that the process maps may be missing, too. */
void unwind_request_files_of_stack(struct address_space *a, const struct mapped_files *files,
				   const uint64_t *addresses, size_t n, uint64_t now);
