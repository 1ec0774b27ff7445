/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/file/import_result.h"
#include "import/file/trace_output.h"
#include "import/perf_data/kernel_names.h"

/*
 * Writes what a perf.data has, a file or a stream of perf record -o -: samples of tracepoints as
 * kernel events, other samples as samples of call stacks, and names of threads.
 *
 * source: names of the kernel's functions. Returns 0, or an error that is in result.
 */
int perf_import(const uint8_t *data, size_t len, const struct kernel_names_source *source,
		struct trace_output *out, struct import_result *result);
