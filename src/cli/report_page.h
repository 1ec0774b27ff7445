/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "cli/trace_tables.h"

/* sonda report --html: writes the page of a window of the trace to the file at path; "-" is the
 * standard output. from, to: the window, in ns of the trace's clock. Logs what the page does not
 * have. Returns an exit code. */
int report_page(struct trace_tables *tables, int64_t from, int64_t to, const char *path);
