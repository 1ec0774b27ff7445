/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/top/top_options.h"
#include "config/trace_config.pb-c.h"

/* The config of the session of sonda top. */

/* The number of processes of which each family of eBPF counters writes values: the most that a
 * family allows. */
#define TOP_EBPF_PROCESSES 1024

/* Where the values of the processes come from. */
enum top_sources {
	TOP_EBPF, /* all from eBPF programs */
	/* The list of processes is that of linux.process_stats: for kernels whose BPF has no
	 * iterator of processes. */
	TOP_EBPF_WITHOUT_PROCESSES,
	TOP_PROC, /* all from /proc */
};

/* Returns 0 (the caller frees with pb__trace_config__free_unpacked), or -errno. */
int top_config_build(const struct top_options *o, enum top_sources sources, Pb__TraceConfig **ret);
