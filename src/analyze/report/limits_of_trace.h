/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/* Adds a line, with its newline, for each limit in the config (a TraceConfig, unchecked) that makes
 * times of threads wrong: a data source of kernel events records only some CPUs, or filters the
 * events from which times are computed. A limit of one source does not count if another source
 * records the same events without it. cpus: how many CPUs the machine has, or the largest of
 * several machines; 0 unknown. */
void limits_of_trace_write(const uint8_t *config, size_t len, unsigned cpus, struct strbuf *out);
