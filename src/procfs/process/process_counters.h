/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "procfs/process/proc_files.h"

/*
 * Tells of a process whether its memory can have changed since it was last looked at. Most processes
 * sleep from one poll to the next, and to learn that costs a third of reading their status again.
 */

/* The text of statm, seven numbers of pages; with more digits than these nothing is quiet. */
#define MEMORY_CHECK_STATM 56

/* Starts as MEMORY_CHECK_NONE. */
struct memory_check {
	struct proc_cached_file statm; /* owned */
	uint32_t threads; /* of the process, set by the owner; 0: not known */
	uint64_t ran_ns; /* CPU time of all its threads, when last looked at */
	uint8_t asked; /* how many times */
	uint8_t len; /* of text; 0: not read since it ran */
	char text[MEMORY_CHECK_STATM];
};
#define MEMORY_CHECK_NONE ((struct memory_check){.statm = PROC_CACHED_NONE})

/* As often at most it is said in a row, for what nobody thought of. */
#define MEMORY_CHECK_TIMES 16

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
	uint32_t same; /* of those: as they were when last read, and not in v */
	uint64_t v[PROCESS_COUNTERS]; /* kB, ns, or a score (signed) */
};

/* A thread of the kernel may run a program, and is a process with memory then (those that begin the
 * kernel's helper programs do, before Linux 5.18). */
#define PROCESS_KTHREAD_READS 16

/*
 * Where the counters of one process come from, and what tells that its number has been given to
 * another one: a file that stays open, or else the time at which it began.
 */
struct process_counter_files {
	int32_t pid;
	uint8_t kthread; /* reads for which it is still taken for a thread of the kernel, which has
			  * no memory; then its status is looked at again */
	struct proc_cached_file status; /* owned */
	struct proc_cached_file oom; /* owned */
	struct memory_check memory_check; /* owned */
	uint32_t memory; /* the counters of status that it had when that was last read */
	uint64_t start; /* of stat, in ticks; 0: not looked at */
};
#define PROCESS_COUNTER_FILES(number)                                                              \
	((struct process_counter_files){.pid = (number),                                           \
					.status = PROC_CACHED_NONE,                                \
					.oom = PROC_CACHED_NONE,                                   \
					.memory_check = MEMORY_CHECK_NONE})

void process_counter_files_deinit(struct process_counter_files *s);

/* What is known of the process; it may be nothing. 0; or -ESRCH: it has ended, and the number may be
 * another one's. */
int process_counters_read(struct proc_files *f, struct process_counter_files *s,
			  const struct process_counters_options *o, struct process_counters *ret);

/* A row with the counters in which (bits); none without any. */
void process_counters_write(struct process_packet *p, int32_t pid,
			    const uint64_t v[static PROCESS_COUNTERS], uint32_t which);
