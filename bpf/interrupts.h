/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* The family "interrupts": what interrupts.bpf.c counts and src/ebpf/families/interrupts.c reads. */

#define INTERRUPTS_SOFTIRQS 10 /* NR_SOFTIRQS; their numbers have been the same since 4.2 */

/* Of sonda_settings.fields. */
#define INTERRUPTS_VECTOR 0 /* of irq/softirq_exit */

struct interrupts_sum {
	__u64 ns, count;
};

/* The only value of the per-CPU array "cpus". */
struct interrupts_cpu {
	struct interrupts_sum softirqs[INTERRUPTS_SOFTIRQS]; /* without interrupts between */
	struct interrupts_sum handlers; /* of devices */
	struct interrupts_sum timer;
	__u64 since, handlers_since, timer_since; /* ns; 0: none runs, or we did not see it begin */
	__u64 taken; /* by interrupts, until the softirq began */
};
