/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "waits.h"

/*
 * Totals of waits without stacks: most waits are short and have none. They are first added up on
 * their CPU. This costs less than the wait itself; an update of the table of totals, with its
 * locks, would cost more.
 *
 * If the place of a total is taken by another one, the other one is moved into the table. Before
 * the reader reads the table, it runs the program flush_short_waits on each CPU, which empties all
 * places. An interrupt during the flush adds its waits to the other half.
 */
#define SHORT_WAITS_MAX 64 /* of a half; a power of two */

struct short_wait {
	__u32 tgid, tid; /* of wait_key */
	union wait_what what;
	struct wait_sum sum; /* waits 0: the place is free */
};

/* A value of the array "short_waits", which has one for each CPU. */
struct short_waits {
	__u64 half; /* the half that waits are added to: 0 or 1 */
	struct short_wait waits[2][SHORT_WAITS_MAX];
};

#ifdef __bpf__
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as CPUs, at the load */
	__type(key, __u32);
	__type(value, struct short_waits);
} short_waits SEC(".maps");

static __always_inline struct short_wait *short_wait_at(__u32 cpu, __u32 half, __u32 i)
{
	struct short_waits *s = bpf_map_lookup_elem(&short_waits, &cpu);

	return s ? &s->waits[half & 1][i & (SHORT_WAITS_MAX - 1)] : NULL;
}

/* Adds a sum to the table of totals without stacks; waits.bpf.c defines it. */
static __always_inline void add_sum_without_stacks(const struct wait_key *k,
						   const struct wait_sum *sum);

/* Moves a total into the table. The verifier checks a global function once. */
__attribute__((noinline)) int short_wait_move(__u32 cpu, __u32 half, __u32 i)
{
	struct short_wait *w = short_wait_at(cpu, half, i);
	struct wait_key k = {};

	if (!w || !w->sum.waits)
		return 0;
	k.tgid = w->tgid;
	k.tid = w->tid;
	k.what.number = w->what.number;
	add_sum_without_stacks(&k, &w->sum);
	__builtin_memset(&w->sum, 0, sizeof(w->sum));
	return 0;
}

/* Adds a wait to a total of this CPU. Returns 0 if the total has no place, because there is no
 * memory for this CPU. */
static __always_inline int short_wait_add(__u32 tgid, __u32 tid, union wait_what what, __u64 ns,
					  __u64 now)
{
	__u64 hash = ((__u64)tid << 32 ^ tgid ^ what.number) * 0x9e3779b97f4a7c15ull;
	__u32 cpu = bpf_get_smp_processor_id(), i = hash >> 58;
	struct short_waits *s = bpf_map_lookup_elem(&short_waits, &cpu);
	struct short_wait *w;

	if (!s)
		return 0;
	w = &s->waits[s->half & 1][i];
	if (w->tgid != tgid || w->tid != tid || w->what.number != what.number) {
		short_wait_move(cpu, s->half, i);
		w->tgid = tgid;
		w->tid = tid;
		w->what.number = what.number;
	}
	w->sum.ns += ns;
	w->sum.waits++;
	if (w->sum.max_ns < ns)
		w->sum.max_ns = ns;
	w->sum.last = now;
	return 1;
}
_Static_assert(SHORT_WAITS_MAX == 1 << (64 - 58), "6 bits of a hash select a place");

/* Moves the short waits of this CPU, whose number is the argument, to the map of all waits. The
 * reader runs it on each CPU. */
SEC("raw_tp")
int flush_short_waits(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 cpu = ctx->args[0], half;
	struct short_waits *s = bpf_map_lookup_elem(&short_waits, &cpu);

	if (!s)
		return 0;
	half = s->half & 1;
	s->half = !half;
	for (__u32 i = 0; i < SHORT_WAITS_MAX; i++)
		short_wait_move(cpu, half, i);
	return 0;
}
#endif
