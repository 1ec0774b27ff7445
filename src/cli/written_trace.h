/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "analyze/trace_scan.h"

/* A trace that the service has written into a file, looked at for the summary, from its beginning, a
 * packet at a time. 0; -ESPIPE it is no regular file, and nothing is set; -EBADMSG it ends within a
 * packet, or is no trace, -EFBIG one of its packets is larger than any can be, -ENOMEM or -errno of
 * reading: scan and *ret_bytes are of what came before. */
int written_trace_scan(int fd, struct trace_scan *scan, uint64_t *ret_bytes);
