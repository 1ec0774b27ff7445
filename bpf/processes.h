/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* What the iterator of processes.bpf.c writes: a record for each thread. The numbers of a process
 * are the sums over its records; what belongs to the process as a whole is in the record of its
 * main thread. With SONDA_BY_THREAD each record has the numbers of one thread. */
#define PROCESSES_COMM 16

struct processes_thread {
	__u32 pid; /* of the process */
	__u32 tid;
	__u64 start_ns; /* CLOCK_BOOTTIME when the thread began */
	__u64 ran_ns; /* on a CPU; in the main thread, including ended threads */
	__u64 read_bytes, write_bytes; /* from and to storage; as ran_ns */
	__u64 memory; /* resident pages, roughly, plus 1; 0: no memory, or not the main thread */
	__u32 is_kthread;
	__u32 parent_pid; /* the parent process of the main thread; 0: none */
	char comm[PROCESSES_COMM];
};
