/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "procfs/process/proc_files.h"

/*
 * Checks whether the memory counters of a process can have changed since they were read. Most
 * processes sleep from one poll to the next. The check costs a third of reading status again.
 */

/* Size of the text of statm: seven page counts. With a longer text, status is always read again. */
#define MEMORY_CHECK_STATM 56

/* Initialise with MEMORY_CHECK_NONE. */
struct memory_check {
	struct proc_cached_file statm; /* owned */
	uint32_t threads; /* number of threads, set by the owner; 0: unknown */
	uint64_t ran_ns; /* CPU time of all threads at the last check */
	uint8_t checks; /* number of checks */
	uint8_t len; /* length of text; 0: not read since the process ran */
	char text[MEMORY_CHECK_STATM];
};
#define MEMORY_CHECK_NONE ((struct memory_check){.statm = PROC_CACHED_NONE})

/* Safety net: after at most this many "unchanged" answers in a row, status is read again. */
#define MEMORY_CHECK_TIMES 16

struct process_packet;

/*
 * Reads the counters of a process and writes them as a row of ProcessStats.
 *
 * Format and sources: protos/trace/ps/process_stats.proto;
 * /proc/PID/{status,oom_score_adj,smaps_rollup,stat,dmabuf_rss}.
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
	bool smaps_rollup; /* expensive: the kernel walks the whole memory of the process */
	bool dmabuf_rss;
};

struct process_counters {
	uint32_t has; /* bits by enum process_counter */
	bool idle; /* the process has not run since the last read; false: it has, or unknown */
	uint32_t same; /* bits of has: unchanged since the last read, and not in v */
	uint64_t v[PROCESS_COUNTERS]; /* kB, ns, or a score (signed) */
};

/*
 * A kernel thread may execute a program and has memory from then on (before Linux 5.18 the helpers
 * of the kernel started that way). So its status is read again after this many reads.
 */
#define PROCESS_KTHREAD_READS 16

/*
 * The files of one process, and how a reused id is detected: by a file that stays open, or else by
 * the start time.
 */
struct process_counter_files {
	int32_t pid;
	/* reads left for which the process is taken for a kernel thread, which has no memory */
	uint8_t kthread;
	struct proc_cached_file status; /* owned */
	struct proc_cached_file oom; /* owned */
	struct memory_check memory_check; /* owned */
	uint32_t memory; /* bits: the counters of status at its last read */
	uint64_t start; /* start time in ticks; 0: not read */
};
#define PROCESS_COUNTER_FILES(number)                                                              \
	((struct process_counter_files){.pid = (number),                                           \
					.status = PROC_CACHED_NONE,                                \
					.oom = PROC_CACHED_NONE,                                   \
					.memory_check = MEMORY_CHECK_NONE})

void process_counter_files_deinit(struct process_counter_files *s);

/*
 * Reads the counters; there may be none. Returns 0, or -ESRCH if the process has exited; its id may
 * be in use again.
 */
int process_counters_read(struct proc_files *f, struct process_counter_files *s,
			  const struct process_counters_options *o, struct process_counters *ret);

/* Writes a row with the counters in which (bits); no row if which is 0. */
void process_counters_write(struct process_packet *p, int32_t pid,
			    const uint64_t v[static PROCESS_COUNTERS], uint32_t which);
