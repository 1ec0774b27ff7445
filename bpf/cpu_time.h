/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "process.h"

/* The family "cpu_time": what cpu_time.bpf.c counts and src/ebpf/families/cpu_time.c reads. */

/* Bits of sonda_settings.switches. */
#define CPU_TIME_HAS_STATE 1u /* sched_switch has prev_state: 5.18 */

enum cpu_time_state {
	CPU_TIME_ON,
	CPU_TIME_RUNNABLE, /* woken or preempted */
	CPU_TIME_SLEEPING, /* S */
	CPU_TIME_BLOCKED, /* D */
	CPU_TIME_OTHER, /* stopped, traced, parked, frozen; idle kernel threads */
	CPU_TIME_STATES,
};

/* Values of a process, on one CPU. */
struct cpu_time {
	__u64 in[CPU_TIME_STATES]; /* spans (process.h) */
};
