/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * The family "interrupts": what interrupts.bpf.c counts and src/ebpf/families/interrupts.c
 * reads.
 */

#define INTERRUPTS_SOFTIRQS 10 /* NR_SOFTIRQS; stable since 4.2 */

/* Indices in sonda_settings.fields. */
#define INTERRUPTS_VECTOR 0 /* of irq/softirq_exit */

struct interrupts_sum {
	__u64 ns, count;
};

/* The single value of the per-CPU array "cpus". */
struct interrupts_cpu {
	struct interrupts_sum softirqs[INTERRUPTS_SOFTIRQS]; /* without interrupts between */
	struct interrupts_sum handlers; /* of devices */
	struct interrupts_sum timer;
	__u64 since, handlers_since, timer_since; /* ns; 0: none runs, or its begin was missed */
	__u64 taken; /* time of interrupts until the softirq began */
};
