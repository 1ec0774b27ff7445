/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "cli/trace_tables.h"

/* sonda report --html: writes the page of a window of the trace, in the trace's clock, to the file;
 * "-" is the standard output. Reports what the page does not have. Returns an exit code. */
int report_page(struct trace_tables *tables, int64_t from, int64_t to, const char *path);
