/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/proc_files.h"

struct process_packet;

/*
 * What a process holds and has used: reads its counters, and writes them as a row of ProcessStats.
 *
 * Format and sources: protos/trace/ps/process_stats.proto; /proc/PID/{status,oom_score_adj,
 * smaps_rollup,stat,dmabuf_rss}.
 */

enum process_counter {
	COUNTER_VM_SIZE,
	COUNTER_VM_RSS,
	COUNTER_RSS_ANON,
	COUNTER_RSS_FILE,
	COUNTER_RSS_SHMEM,
	COUNTER_VM_SWAP,
	COUNTER_VM_LOCKED,
	COUNTER_VM_HWM,
	COUNTER_OOM_SCORE_ADJ,
	COUNTER_SMR_RSS,
	COUNTER_SMR_PSS,
	COUNTER_SMR_PSS_ANON,
	COUNTER_SMR_PSS_FILE,
	COUNTER_SMR_PSS_SHMEM,
	COUNTER_RUNTIME_USER,
	COUNTER_RUNTIME_KERNEL,
	COUNTER_SMR_SWAP_PSS,
	COUNTER_DMABUF_RSS,
	PROCESS_COUNTERS,
};

struct process_counters_options {
	bool runtime;
	bool smaps_rollup; /* dear: the kernel walks the whole memory of the process */
	bool dmabuf_rss;
};

struct process_counters {
	uint32_t has; /* bits by enum process_counter */
	uint64_t v[PROCESS_COUNTERS]; /* kB, ns, or a score (signed) */
};

/* What is known of the process; it may be nothing. memory: false for a kernel thread, of which only
 * the runtime is read. ret_is_kthread: it turned out to be one. */
void process_counters_read(struct proc_files *f, int32_t pid,
			   const struct process_counters_options *o, bool memory,
			   struct process_counters *ret, bool *ret_is_kthread);

/* A row with the counters in which (bits); none without any. */
void process_counters_write(struct process_packet *p, int32_t pid, const struct process_counters *c,
			    uint32_t which);
