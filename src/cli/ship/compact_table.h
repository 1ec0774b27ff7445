/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/ship/spool.h"

/*
 * Merges the files of one table, in a process without rights: the files come from other
 * machines.
 */

struct compact_source {
	const char *machine; /* borrowed */
	char *path; /* owned by the caller; below the root */
};

struct compact_table_job {
	int root; /* directory of the paths */
	const struct compact_source *sources; /* borrowed; in the order of their rows */
	size_t n_sources;
	const char
		*name; /* of the merged files: NAME-0.tmp, NAME-1.tmp, ...; with their directory */
	uint64_t part_bytes; /* a larger file is followed by another one */
	const volatile sig_atomic_t *stop;
};

struct compact_table_result {
	int error; /* 0 or -errno */
	size_t bad; /* the source that cannot be read, if error is -EBADMSG; n_sources: none */
	unsigned n_parts;
	uint64_t rows;
	char problem[256]; /* of the error */
};

/* Writes the merged files, and reads them again: they have the rows of the sources, in their order,
 * with the machine in a last column "machine". Returns 0, also if ret->error is set; -EINTR if
 * *stop was set; or -errno and sets e: no process could be started. */
int compact_table_merge(const struct compact_table_job *job, struct compact_table_result *ret,
			struct err_text *e);

/* Writes the path of a part. */
void compact_table_part(const char *name, unsigned part, char ret[static SPOOL_KEY_MAX]);
