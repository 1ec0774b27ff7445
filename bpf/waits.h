/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

#include "program_names.h"

/*
 * Waits of threads: what waits.bpf.c finds and src/stacks/waits reads. A wait begins when a thread
 * leaves its CPU blocked and ends when it is woken; the time after that is run-queue latency.
 *
 *	totals     a sum for each key: exact, whatever happens to stacks
 *	"waits"    a ring of records: single waits, and each stack once, before its first wait
 */

/* Bits of sonda_settings.switches. */
#define WAITS_HAS_STATE 1u /* sched_switch has prev_state: 5.18 */
#define WAITS_KERNEL_THREADS 2u /* also waits of kernel threads */
#define WAITS_BY_THREAD 4u /* totals by thread, not by process */
#define WAITS_USER_STACKS 8u
#define WAITS_HAS_LOCKS 16u /* the kernel has contention_begin: 5.19 */

#define WAITS_FRAMES_MAX 127 /* of each stack; a mask */
#define WAITS_TOTALS_MAX 16384
#define WAITS_BARE_TOTALS_MAX 4096 /* of waits without stacks */
#define WAITS_WAKERS_MAX 8192 /* totals by the stacks of wakers */
#define WAITS_OWN_MAX 16
#define WAITS_NAME 16

/* The section .rodata.waits, set before the load. */
struct waits_settings {
	__u64 min_ns; /* threshold of single waits and of kernel stacks */
	__u32 states; /* bits 1 << enum wait_state */
	__u32 n_programs; /* 0: all */
	char programs[PROGRAM_NAMES_MAX][PROGRAM_NAME_SIZE]; /* names of processes */
	__u32 own[WAITS_OWN_MAX]; /* processes of the recorder; 0 after the last one */
};

/* The section .data.waits: limits for each CPU and second, which the reader may lower. */
struct waits_budget {
	__u64 waits; /* single waits */
	__u64 kernel_stacks;
	__u64 user_stacks;
};

/* How a thread waits. A wait for a CPU does not count here, unless the thread is throttled. */
enum wait_state {
	WAIT_INTERRUPTIBLE, /* S */
	WAIT_UNINTERRUPTIBLE, /* D */
	WAIT_STOPPED, /* T, t */
	WAIT_PARKED, /* P */
	WAIT_IDLE, /* I */
	WAIT_THROTTLED, /* runnable, but its control group has used up cpu.max */
	WAIT_STATES
};

/* Bits of wait_what.flags. */
#define WAIT_IN_IOWAIT 1u
#define WAIT_COMPAT 2u /* the call is of the 32-bit table */
#define WAIT_BEGAN_BEFORE 4u /* it began before the recording, whose begin is used instead */
#define WAIT_STILL_WAITS 8u /* it lasts past the end of the recording */
#define WAIT_WAKER_IS_INTERRUPT 16u /* an interrupt ended the wait: no thread is its waker */
#define WAIT_KERNEL_THREAD 32u
#define WAIT_OF_WAKER 128u /* only in a wait_key: its stacks are those of the waker */
#define WAIT_HOLDER_IS_IN_FUTEX 64u /* a PI futex: its value is the holder, also for the kernel */
/* The parts that totals are counted by. */
#define WAIT_KEY_FLAGS (WAIT_IN_IOWAIT | WAIT_COMPAT | WAIT_KERNEL_THREAD)

/* Of a kernel's lock, from the flags of contention_begin. */
enum wait_lock {
	WAIT_NO_LOCK,
	WAIT_MUTEX,
	WAIT_RWSEM_READ,
	WAIT_RWSEM_WRITE,
	WAIT_RT_MUTEX,
	WAIT_PERCPU_RWSEM,
	WAIT_SEMAPHORE,
};

#define WAIT_NO_CALL (-1) /* a page fault, or a kernel thread */

/* What a thread waits in. */
union wait_what {
	struct {
		__s32 call; /* system call, or WAIT_NO_CALL */
		__u8 state; /* enum wait_state */
		__u8 lock; /* enum wait_lock */
		__u8 flags;
		__u8 unused;
	};
	__u64 number; /* all of them: to compare and to copy */
};

/* What a total is about. */
struct wait_key {
	__u64 kernel, user; /* hashes of stacks; 0: no stack was taken */
	__u32 tgid;
	__u32 tid; /* 0: of the process */
	union wait_what what; /* flags: only WAIT_KEY_FLAGS */
};

/* Totals of waits by waker: by the waker's stacks, the process (or thread) that waited, and the
 * name of the waking thread. Only for long waits, because only their wakers have stacks. */
struct waker_key {
	struct wait_key waits; /* what: only the flag WAIT_OF_WAKER */
	char name[WAITS_NAME]; /* "interrupt", if it was one */
};

struct wait_sum {
	__u64 ns;
	__u64 waits;
	/* If two CPUs end waits of one key at the same time, one of their updates of the next two
	 * fields may be lost. */
	__u64 max_ns;
	__u64 last; /* the end of the last wait, ns of CLOCK_BOOTTIME */
};

enum wait_record { WAIT_RECORD_EVENT = 1, WAIT_RECORD_STACK };

/* A single wait. Times are ns of CLOCK_BOOTTIME. */
struct wait_event {
	__u32 type; /* WAIT_RECORD_EVENT */
	/* The holder when the wait for a futex began. Without WAIT_HOLDER_IS_IN_FUTEX it is the
	 * owner that a mutex of glibc stores after its futex; only the user stack shows whether the
	 * futex is that of a mutex. 0: not known. */
	__u32 holder_tid;
	union wait_what what;
	__u64 since, until;
	__u64 kernel, user; /* hashes of the sleeper's stacks; 0: none */
	__u64 waker_kernel, waker_user; /* of the waker's; 0: none */
	__u64 args[3]; /* of the system call */
	__u64 lock_address;
	__u32 tgid, tid, waker_tgid, waker_tid;
	char comm[WAITS_NAME], waker_comm[WAITS_NAME];
};

/* A stack, the innermost function first. A caller has its return address in the kernel, an address
 * within its call instruction in a user stack. */
struct wait_stack {
	__u32 type; /* WAIT_RECORD_STACK */
	__u32 n;
	__u64 hash;
	__u64 time; /* ns of CLOCK_BOOTTIME: of the mappings of its process */
	__u32 tgid; /* of a user stack; 0: it is of the kernel */
	__u32 tid;
	__u32 error; /* Profiling.StackUnwindError */
	__u32 unused;
	__u64 addresses[WAITS_FRAMES_MAX + 1]; /* only n of them are in the ring */
};

/* The single value of the per-CPU array "cpus": losses of all kinds. */
struct waits_cpu {
	__u64 switches; /* of threads that block */
	/* Missing waits, because memory for their begin ran out; and missing processes. */
	__u64 no_slot;
	__u64 no_end; /* waits without a total, because their end was not seen */
	__u64 no_waking; /* wakeup not seen: these waits end when the thread was queued or ran */
	__u64 no_key; /* waits without a total: the table of totals is full */
	__u64 no_key_ns;
	__u64 left_out; /* long waits without a record: above the limit per second */
	__u64 ring_full; /* single waits that found no room */
	__u64 stack_lost; /* stacks that found no room */
	__u64 kernel_refused; /* long waits without a kernel stack: above the limit per second */
	__u64 kernel_failed; /* the kernel could not be unwound; the thread was still on its CPU */
	__u64 user_refused; /* waits without a user stack: above the limit per second */
	__u64 user_failed;
	__u64 user_stacks, kernel_stacks; /* that were taken */
	__u64 user_by_kernel; /* user stacks by frame pointers: the process has no tables yet */
	__u64 throttled; /* waits of throttled threads that began */
	/* the second of the budget: its begin, and what it has used */
	__u64 second;
	struct waits_budget used;
	__u64 woken; /* unwind_request_wakeup() */
};
