/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.perf: samples of the CPUs with call stacks, by perf_event_open(2). User frames are those
 * that the kernel finds by frame pointers. Config: PerfEventConfig; docs/reference/stacks.md. */
extern const struct data_source perf_data_source;

/* Starts the processes that read files of other processes for linux.perf. Call it before the
 * sandbox and while there is one thread. Returns 0 or -errno: then user frames have no names. */
int perf_source_start_helpers(void);
