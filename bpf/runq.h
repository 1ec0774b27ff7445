/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "histogram.h"

/* The family "runq": what runq.bpf.c counts and src/ebpf/families/runq.c reads. */

/* Bits of sonda_settings.switches. */
#define RUNQ_HAS_STATE 1u /* sched_switch has prev_state: 5.18 */
/* cfs_rq has a count without threads that sleep but are still queued: 6.14 */
#define RUNQ_NO_SLEEPERS 2u
/* Waits are counted by control group, too (cgroup_waits.h). */
#define RUNQ_BY_CGROUP 4u

/* The single value of the per-CPU array "cpus". */
struct runq_cpu {
	__u64 switches; /* context switches, of all threads, including the idle one */
	__u64 lost; /* waits that are not counted: memory for their begin ran out */
	__u64 depth_ns; /* integral up to clock: waiting threads times ns */
	__u64 clock; /* of the last switch, ns */
	__u64 depth; /* waiting since then */
	struct sonda_max depth_max;
	struct sonda_max wait_max; /* ns */
	struct sonda_hist wait; /* ns */
	__u64 throttled_ns; /* waits of threads whose group had used up cpu.max: not in wait */
	__u64 cgroups_lost; /* waits that are not counted by control group: no room */
	__u64 wait_ns; /* sum of the waits in the histogram */
};

#ifdef __bpf__
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct runq_cpu);
} cpus SEC(".maps");

/* By CPU: threads that migrated to it; updated by other CPUs too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as CPUs, at the load */
	__type(key, __u32);
	__type(value, __u64);
} migrations SEC(".maps");

static __always_inline struct runq_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void count_wait(struct runq_cpu *c, __u64 ns)
{
	sonda_hist_add(&c->wait, ns);
	c->wait_ns += ns;
	sonda_max_put(&c->wait_max, generation, ns);
}

static __always_inline void count_lost(void)
{
	struct runq_cpu *c = this_cpu();

	if (c)
		c->lost++;
}

static __always_inline int count_migration(__u32 cpu)
{
	__u64 *n = bpf_map_lookup_elem(&migrations, &cpu);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
#endif
