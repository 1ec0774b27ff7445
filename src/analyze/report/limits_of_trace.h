/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * Adds a line, with its newline, for each limit of the config (a TraceConfig, unchecked) because of
 * which times of threads are wrong: data sources with kernel events that record some CPUs only, or
 * that have a filter on the events that times are computed from. A limit of one source does not
 * count if another source records the same events without it. cpus: how many CPUs the machine has,
 * of several machines the one with the most; 0 unknown.
 */
void limits_of_trace_write(const uint8_t *config, size_t len, unsigned cpus, struct strbuf *out);
