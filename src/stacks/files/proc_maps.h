/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/span.h"
#include "stacks/files/file_messages.h"

/* Parse a line of /proc/PID/maps (proc_pid_maps(5)), without its newline. Return true if it is a
 * mapping; the first function requires an executable one. If so, *ret has it, and *ret_path its
 * path, borrowed from the line, as the kernel escapes it ("\012" is a newline). The path of an
 * anonymous mapping is "//anon", as in PERF_RECORD_MMAP2. " (deleted)" stays. */
bool proc_maps_parse_line(struct span line, struct file_mapping *ret, struct span *ret_path);
bool proc_maps_parse_any_line(struct span line, struct file_mapping *ret, struct span *ret_path);
