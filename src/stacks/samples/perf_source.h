/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.perf: samples of the CPUs with call stacks, by perf_event_open(2). User frames are found by
 * the kernel, by frame pointers, or by a BPF program (sample_program.h). Config: PerfEventConfig;
 * docs/reference/stacks.md. */
extern const struct data_source perf_data_source;

/* Starts the processes that read files of other processes, for linux.perf and linux.waits
 * (file_reader.h). Call it before the sandbox and while there is one thread. Returns 0 or -errno:
 * then user frames have no names. */
int perf_source_start_helpers(void);
