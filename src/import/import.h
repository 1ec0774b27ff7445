/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/file/import_result.h"

/*
 * Recordings of other programs as traces. The file is hostile, so a process without rights parses
 * it:
 *
 *	this process                                  sonda-import
 *	maps the file, opens the output,              parses the file, writes packets to the
 *	parses nothing   <----- import_result ------  output; has no other rights, limited memory
 */
#define IMPORT_MEMORY (4ull << 30) /* bytes of the process, beside the file */

struct import_options {
	const char
		*buffer; /* trace.dat: only the events of this one, "top" for the top level; NULL:
			     * of all */
	const char
		*kallsyms; /* perf.data: path of the recorded kernel's; NULL: that of this machine,
			       * if its kernel is the recorded one */
};

/* Writes the trace of the file `in` to the descriptor `out`. A file that is not seekable is copied
 * into a temporary file first. Call it while the process has one thread. Returns 0, or -errno with
 * ret->problem set. */
int import_run(int in, int out, const struct import_options *options, struct import_result *ret);

/* Does what the process does, but in this process, for tests. Returns 0, or an error that is in
 * ret. */
struct kernel_names_source;
int import_bytes(const uint8_t *data, size_t len, int out, const char *buffer,
		 const struct kernel_names_source *source, struct import_result *ret);
