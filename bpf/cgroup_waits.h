/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * How long the threads of each control group waited for a CPU, by what ran before: histograms in
 * one hash, which all CPUs update. Programs and readers include this file;
 * src/ebpf/families/cgroup_waits.c reads it.
 *
 * Each power of two from 1024 ns upwards has 4 buckets of equal width, so the width of a bucket is
 * at most 1/4 of its start:
 *
 *	v < 1024      bucket 0
 *	else          bucket 1 + (e - 10) * 4 + the two bits below the highest one (bit e)
 *	              the last one begins at 12.9 s
 *
 * Sums and counts only grow; counts wrap at 2^32.
 */
#define CGROUP_WAITS_GROUPS                                                                        \
	16384 /* control groups; the waits of further ones are counted as lost */
#define CGROUP_WAITS_BUCKETS 96
#define CGROUP_WAITS_BITS 10 /* of the end of bucket 0 */

/* What had the CPU when the wait ended. The numbers are those in the trace. */
enum cgroup_wait_cause {
	CGROUP_WAIT_NEIGHBOUR, /* a thread of another control group */
	CGROUP_WAIT_OWN, /* a thread of the same group */
	CGROUP_WAIT_KERNEL, /* a kernel thread */
	CGROUP_WAIT_IDLE, /* nothing: the CPU was idle */
	CGROUP_WAIT_QUOTA, /* anything: the group had used up cpu.max */
	CGROUP_WAIT_CAUSES
};

struct cgroup_waits {
	__u64 total[CGROUP_WAIT_CAUSES]; /* ns; a wait is at least 1 ns, so each one changes it */
	__u64 longest
		[CGROUP_WAIT_CAUSES]; /* ns; of two simultaneous waits on two CPUs, either one */
	__u32 buckets[CGROUP_WAIT_CAUSES * CGROUP_WAITS_BUCKETS]; /* those of each cause */
};

#ifdef __bpf__
/* A hash that allocates its elements only on kernels where that is safe in the scheduler (6.1). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CGROUP_WAITS_GROUPS);
	__type(key, __u64); /* id of the control group */
	__type(value, struct cgroup_waits);
} cgroup_waits SEC(".maps");

static const struct cgroup_waits no_cgroup_waits;

static __always_inline __u32 cgroup_waits_bucket(__u64 ns)
{
	__u32 e, i;

	if (ns < 1ull << CGROUP_WAITS_BITS)
		return 0;
	e = sonda_highest_bit(ns);
	i = 1 + (e - CGROUP_WAITS_BITS) * 4 + (__u32)((ns >> (e - 2)) & 3);
	return i < CGROUP_WAITS_BUCKETS ? i : CGROUP_WAITS_BUCKETS - 1;
}

/* Adds a wait. Returns 0 if there is no room for the group. */
static __always_inline int cgroup_waits_add(__u64 group, __u32 cause, __u64 ns)
{
	struct cgroup_waits *w = bpf_map_lookup_elem(&cgroup_waits, &group);
	__u32 i;

	if (!w) {
		bpf_map_update_elem(&cgroup_waits, &group, &no_cgroup_waits, BPF_NOEXIST);
		w = bpf_map_lookup_elem(&cgroup_waits, &group);
	}
	i = cause * CGROUP_WAITS_BUCKETS + cgroup_waits_bucket(ns);
	/* The verifier does not see the bounds. */
	asm volatile("" : "+r"(i), "+r"(cause));
	if (!w || cause >= CGROUP_WAIT_CAUSES || i >= CGROUP_WAIT_CAUSES * CGROUP_WAITS_BUCKETS)
		return 0;
	__sync_fetch_and_add(&w->total[cause], ns ? ns : 1);
	__sync_fetch_and_add(&w->buckets[i], 1);
	if (ns > w->longest[cause])
		w->longest[cause] = ns;
	return 1;
}
#endif
