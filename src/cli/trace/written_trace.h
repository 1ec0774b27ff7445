/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "analyze/trace_scan.h"
#include "config/trace_config.pb-c.h"

/* A trace that the service has written into a file, looked at for the summary, from its beginning, a
 * packet at a time. 0; -ESPIPE it is no regular file, and nothing is set; -EBADMSG it ends within a
 * packet, or is no trace, -EFBIG one of its packets is larger than any can be, -ENOMEM or -errno of
 * reading: scan and *ret_bytes are of what came before. */
int written_trace_scan(int fd, struct trace_scan *scan, uint64_t *ret_bytes);

/* The same of the files that a session with rotate has left, as one trace; in *ret_files how many. Those
 * of other sessions under the same names are known by their uuid and left out. -ENOENT: there are none. */
int written_trace_scan_files(const Pb__TraceConfig *config, struct trace_scan *scan,
			     uint64_t *ret_bytes, size_t *ret_files);

/* What the person finds it under, when the service made the file: output_path, or, of a row of them,
 * the first name that it may have. */
void written_trace_name(const Pb__TraceConfig *config, char *buf, size_t size);
