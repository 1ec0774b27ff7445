/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

/*
 * Finds the trace in the current folder that was written last, for a verb whose command line names no
 * FILE: a regular file that begins with a packet of a trace, whatever its name. Only the newest 256
 * files are opened. Logs the name, or why there is none. Returns 0 and the name, or -errno.
 */
int newest_trace_choose(const char *verb, char ret_name[static NAME_MAX + 1]);
