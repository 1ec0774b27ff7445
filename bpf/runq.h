/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "histogram.h"

/* The family "runq": what runq.bpf.c counts and src/ebpf/runq.c reads. */

/* Bits of sonda_settings.switches. */
#define RUNQ_STATE_IS_TOLD 1u /* sched_switch has prev_state: 5.18 */
#define RUNQ_NO_SLEEPERS 2u /* cfs_rq tells threads that sleep but are queued still: 6.14 */

/* The only value of the per-CPU array "cpus". */
struct runq_cpu {
	__u64 switches; /* context switches, of all threads, the idle one too */
	__u64 lost; /* waits that are not counted: there was no memory to keep their beginning */
	__u64 depth_ns; /* threads waiting, times ns: the integral until clock */
	__u64 clock; /* of the last switch, ns */
	__u64 depth; /* waiting since then */
	struct sonda_max depth_max;
	struct sonda_max wait_max; /* ns */
	struct sonda_hist wait; /* ns */
};
