/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

#include "unwind_tables.h"

/*
 * Samples of perf events with their stacks, which samples.bpf.c writes to the ring "samples".
 * Programs and readers include this file.
 */

/* Bits of settings.switches */
#define SAMPLES_KERNEL 1u /* with the stack of the kernel */
#define SAMPLES_USER 2u /* with the stack of the program */
#define SAMPLES_MONOTONIC 4u /* times are of CLOCK_MONOTONIC, not of CLOCK_BOOTTIME */

#define SAMPLES_FOLLOWERS_MAX 7 /* further events that are read with each sample */

/* The value of the per-CPU array "cpus". */
struct sample_cpu {
	__u64 lost; /* samples that found no room in the ring */
	__u64 woken; /* unwind_request_wakeup() */
};

struct stack_sample {
	__u64 time; /* ns */
	__u64 count; /* of the event, since it was opened */
	__u64 followers[SAMPLES_FOLLOWERS_MAX]; /* counts of the further events */
	__u32 pid, tid, cpu;
	__u8 is_user; /* the sample interrupted the program, not the kernel */
	__u8 error, is_by_kernel; /* of struct unwind_stack */
	__u8 unused;
	__u32 n_kernel, n_user;
	/* The addresses of the kernel, as bpf_get_stack() returns them, then those of the program,
	 * as struct unwind_stack has them. Only these addresses are in the ring. */
	__u64 addresses[2 * UNWIND_FRAMES_MAX];
};
