/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * A histogram of nanoseconds in the value of a per-CPU map, and the maximum of a period. Programs
 * and readers include this file; src/ebpf/tracks/counter.c computes percentiles.
 *
 * Each power of two has 32 buckets of equal width, so the width of a bucket is at most 1/32 (3.1 %)
 * of its start; below 32 ns each value has its own bucket. With e the highest bit of v:
 *
 *	v < 32        bucket v
 *	v < 2^36      bucket (e - 5) * 32 + (v >> (e - 5))       68.7 s is the end
 *	else          the last one
 *
 * Counts are monotonic and wrap at 2^32. The reader takes the difference from its previous read, so
 * nothing is reset, and a lost read costs nothing.
 */
#define SONDA_HIST_BUCKETS 1024
#define SONDA_HIST_BITS 36

struct sonda_hist {
	__u32 buckets[SONDA_HIST_BUCKETS];
};

/* The maximum of a period needs no reset: a slot of another generation belongs to an old period and
 * starts again. While the reader, which has incremented the generation, reads the slot of the
 * period that ended, programs fill the other slot. */
struct sonda_max {
	__u64 generation[2];
	__u64 max[2];
};

#ifdef __bpf__
static __always_inline __u32 sonda_highest_bit(__u64 v)
{
	__u32 e = 0;

#define STEP(n)                                                                                    \
	if (v >= 1ull << n) {                                                                      \
		v >>= n;                                                                           \
		e += n;                                                                            \
	}
	STEP(32)
	STEP(16)
	STEP(8)
	STEP(4)
	STEP(2)
	STEP(1)
#undef STEP
	return e;
}

static __always_inline __u32 sonda_hist_bucket(__u64 v)
{
	__u32 e, i;

	if (v < 32)
		return v;
	if (v >> SONDA_HIST_BITS)
		return SONDA_HIST_BUCKETS - 1;
	e = sonda_highest_bit(v);
	i = (e - 5) * 32 + (__u32)(v >> (e - 5));
	return i & (SONDA_HIST_BUCKETS - 1); /* the mask is for the verifier */
}

/* Adds a value. Only for a tracepoint that no update of the same histogram can interrupt on this
 * CPU (sched_switch). */
static __always_inline void sonda_hist_add(struct sonda_hist *h, __u64 v)
{
	h->buckets[sonda_hist_bucket(v)]++;
}

/* Adds a value. For tracepoints that interrupts may interrupt. */
static __always_inline void sonda_hist_add_atomic(struct sonda_hist *h, __u64 v)
{
	__sync_fetch_and_add(&h->buckets[sonda_hist_bucket(v)], 1);
}

/* Keeps the value if it is the maximum of the period. now: the period, which is the variable
 * `generation` of common.h. */
static __always_inline void sonda_max_put(struct sonda_max *m, __u64 now, __u64 v)
{
	__u32 i = now & 1;

	if (m->generation[i] != now) {
		m->generation[i] = now;
		m->max[i] = v;
	} else if (v > m->max[i]) {
		m->max[i] = v;
	}
}
#endif
