/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/* The trace file that a verb reads. */

/* Returns true if the file begins with the record of a whole TracePacket. Checks its fields only if
 * it ends within the first 4 KiB of the file. */
bool trace_input_is_trace(const char *path);

/* Returns true if the file is text. A trace is not, even if its first byte is a newline (0x0A). */
bool trace_input_is_text(const char *path);

/* Sets e to what the file at path is instead of a trace: empty, compressed, text. Returns
 * -EBADMSG. */
int trace_input_explain(const char *path, struct err_text *e);

/* Sets e to why the trace at path cannot be read: r is -errno of its reader. Returns r. */
int trace_input_explain_error(const char *path, int r, struct err_text *e);

/* A trace file that is mapped into memory. */
struct trace_bytes_map {
	uint8_t *data; /* owned mapping */
	size_t len;
};

/* Maps a regular file. Returns 0, or -errno and sets e. */
int trace_input_map(const char *path, struct trace_bytes_map *ret, struct err_text *e);
void trace_input_unmap(struct trace_bytes_map *m);

/* Reads a time since the trace's start: seconds with a fraction, or with a unit: 1.5, 2s, 200ms.
 * option is its name in the error. Returns 0 and the time in ns, at least min, or -EINVAL and sets
 * e. */
int trace_input_parse_time(const char *option, const char *text, int64_t min, int64_t *ret,
			   struct err_text *e);

/* Reads the value of --top, the number of rows to print. Returns 0 and the number, at least 1, or
 * -EINVAL and sets e. */
int trace_input_parse_top(const char *text, int64_t *ret, struct err_text *e);

#define TRACE_INPUT_WHO_MAX 64

/* Appends the words of text, the value of -p: numbers and names of processes and threads, separated
 * by commas. Cuts text in place; words are borrowed from it. Returns 0, or -EINVAL and sets e. */
int trace_input_parse_processes(char *text, char *words[static TRACE_INPUT_WHO_MAX], size_t *n,
				struct err_text *e);

/* Returns true if both are the same regular file: writing the output would destroy the input. */
bool trace_input_is_output(const char *input, const char *output);

/* Finds the most recently written trace in the current directory, for a verb whose command line
 * names no FILE: a regular file that begins with a packet of a trace, whatever its name. Only the
 * newest 256 files are opened. Logs the name, or why there is none. Returns 0 and the name, or
 * -errno. */
int newest_trace_choose(const char *verb, char ret_name[static NAME_MAX + 1]);
