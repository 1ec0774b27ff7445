/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "process.h"

/* The family "locks": what locks.bpf.c counts and src/ebpf/families/locks.c reads. */

/* Indices in sonda_settings.fields. */
#define LOCKS_BEGUN 0 /* the lock, of lock/contention_begin */
#define LOCKS_FLAGS 1
#define LOCKS_ENDED 2 /* the lock, of lock/contention_end */

enum lock_kind {
	/* The waiter spins and keeps the CPU. */
	LOCK_SPIN,
	LOCK_RWLOCK,
	/* The waiter sleeps, though it may spin first. */
	LOCK_MUTEX,
	LOCK_RWSEM_READ,
	LOCK_RWSEM_WRITE,
	LOCK_RT, /* rt mutexes; with PREEMPT_RT most others too */
	LOCK_PERCPU_RWSEM,
	LOCK_OTHER, /* semaphores; in 5.19 mutexes, too: the event has no flag for them */
	LOCK_KINDS,
};
#define LOCKS_NEST 4 /* a thread, a softirq, an interrupt, an NMI */

struct lock_sum {
	__u64 ns, count;
};

struct spinning {
	__u64 lock, since;
	__u32 kind;
	__u32 reserved;
};

/* The single value of the per-CPU array "cpus". */
struct locks_cpu {
	struct lock_sum kinds[LOCK_KINDS];
	__u64 lost; /* waits whose ends were missed: found if more than LOCKS_NEST seem nested */
	__u32 depth; /* number of active entries of spinning */
	__u32 reserved;
	struct spinning spinning[LOCKS_NEST];
};

/* Values of a process, on one CPU: the waits of its threads that sleep. */
struct locks_process {
	__u64 ns, count;
};
