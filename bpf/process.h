/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * Sums by process: what a family's hash "processes" has as key, and values that are only u64. Both
 * sides include this file; src/ebpf/processes.c reads.
 *
 * Each CPU has an element of its own for a process that it counts for, so nothing is atomic, and no
 * two CPUs write to one line. (As the values of a per-CPU hash each element would have room for all
 * CPUs, which would all be read, though most processes run on a few.) The reader adds them up. It
 * also deletes those of processes that are gone; where the hash is full, what finds no room is
 * counted as lost.
 */
struct sonda_process_key {
	__u32 tgid;
	__u32 cpu;
	__u32 what; /* a further part, where a family has one; else 0 */
};

/*
 * Time that threads spend in a state, also that of threads which are in it still: 48 bits with the
 * sum of ends minus the sum of begins (ns), 16 with begins minus ends. At any moment the time until
 * then is sum + number * moment; over several words sums and numbers add up, each going round. They
 * are one word, so a reader that comes between two updates sees both of the one or of the other.
 */
#define SONDA_SPAN_BITS 48
#define SONDA_SPAN_SUM ((1ull << SONDA_SPAN_BITS) - 1)

#ifdef __bpf__
static __always_inline __u64 sonda_span(__u64 word, __u64 number, __u64 sum)
{
	return ((word & ~SONDA_SPAN_SUM) + (number << SONDA_SPAN_BITS)) |
	       ((word + sum) & SONDA_SPAN_SUM);
}

static __always_inline void sonda_span_begin(__u64 *word, __u64 now)
{
	*word = sonda_span(*word, 1, -now);
}

static __always_inline void sonda_span_end(__u64 *word, __u64 now)
{
	*word = sonda_span(*word, -1ull, now);
}

/* What there was no room to count. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&lost, &zero);

	if (n)
		++*n;
}

/* The hash "processes" of values of a type, and process_of(): the value of this CPU, or NULL, which
 * is counted. */
#define SONDA_PROCESSES(value_t)                                                                   \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, 1); /* at the load, by the CPUs */                             \
		__type(key, struct sonda_process_key);                                             \
		__type(value, value_t);                                                            \
	} processes SEC(".maps");                                                                  \
	static __always_inline __attribute__((unused)) value_t *process_of(__u32 tgid, __u32 what) \
	{                                                                                          \
		const struct sonda_process_key key = {                                             \
			.tgid = tgid, .cpu = bpf_get_smp_processor_id(), .what = what};            \
		value_t *v = bpf_map_lookup_elem(&processes, &key);                                \
		const value_t none = {};                                                           \
                                                                                                   \
		if (v)                                                                             \
			return v;                                                                  \
		bpf_map_update_elem(&processes, &key, &none, BPF_NOEXIST);                         \
		v = bpf_map_lookup_elem(&processes, &key);                                         \
		if (!v)                                                                            \
			count_lost();                                                              \
		return v;                                                                          \
	}
#endif
