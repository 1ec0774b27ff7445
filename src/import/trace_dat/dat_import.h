/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/file/import_result.h"
#include "import/file/trace_output.h"

/*
 * Writes the events of a trace.dat as bundles, by the encoder that encodes the pages of a running
 * kernel. The bundles of the CPUs are in the order of time, each of up to BUNDLE_MAX_BYTES.
 *
 * buffer: only the events of this one, "top" for the top level; NULL: of all.
 *
 * Returns 0, or an error that is in result.
 */
int dat_import(const uint8_t *data, size_t len, const char *buffer, struct trace_output *out,
	       struct import_result *result);
