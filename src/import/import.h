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

/*
 * buffer: only the events of this tracefs instance, "top" for the top level; NULL: of all.
 *
 * Writes the trace of the file `in` to the descriptor `out`. A file that is not seekable is copied
 * into a temporary file first. Call it while the process has one thread. Returns 0, or -errno with
 * ret->problem set.
 */
int import_run(int in, int out, const char *buffer, struct import_result *ret);

/* What the process does, without one, for tests. Returns 0, or an error that is in ret. */
int import_bytes(const uint8_t *data, size_t len, int out, const char *buffer,
		 struct import_result *ret);
