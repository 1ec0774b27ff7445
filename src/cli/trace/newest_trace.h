/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

/*
 * Finds the trace in the current folder that was written last: a regular file that begins with a
 * packet of a trace, whatever its name. Only the newest 256 files are opened.
 *
 * Returns 0 and the name, or -ENOENT if there is none, or -errno.
 */
int newest_trace_find(char ret_name[static NAME_MAX + 1]);
/* The same for a verb whose command line names no FILE. Logs the name, or why there is none. */
int newest_trace_choose(const char *verb, char ret_name[static NAME_MAX + 1]);
