/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * Sums by process: values of u64 only. Programs and readers include this file;
 * src/ebpf/tracks/per_process.c reads them.
 *
 * Each CPU has its own elements for the processes it counts, so nothing is atomic and no cache line
 * has two writers. (In a per-CPU hash each element would have room for all CPUs, and all of it
 * would be read, though most processes run on a few CPUs.) The reader adds up the elements of a
 * process.
 *
 * The elements are in three arrays that the reader has mapped: a system call that reads a few
 * hundred elements of a hash takes as long as reading ten times as many here. The index of an
 * element is that of its key:
 *
 *	"process_keys"   | CPU 0: bucket, bucket ... | CPU 1: bucket, bucket ... |     8 keys a bucket
 *	"processes"      | value, value ...                                            one a key
 *	"process_times"  | time, time ...                                              one a key
 *
 * The time (ns of CLOCK_BOOTTIME) is that of the creation of the element: the process existed then.
 * It is 0 while it is unknown.
 *
 * A key is in its bucket or in one of the next buckets; it takes the first free place. The reader
 * frees the elements of exited processes, which may leave a key with two places: the reader adds up
 * both. A key that finds no place is counted as lost.
 */
#define SONDA_PROCESS_WAYS 8
#define SONDA_PROCESS_PROBES 4 /* number of buckets that are searched */

struct sonda_process_keys {
	__u64 keys[SONDA_PROCESS_WAYS]; /* 0: free */
};

/* what: a second part of the key, if the family has one; else 0. */
#define SONDA_PROCESS_USED (1u << 31) /* above all pids */
#define SONDA_PROCESS_KEY(tgid, what) ((__u64)(what) << 32 | SONDA_PROCESS_USED | (tgid))
#define SONDA_PROCESS_TGID(key) ((__u32)(key) & ~SONDA_PROCESS_USED)
#define SONDA_PROCESS_WHAT(key) ((__u32)((key) >> 32))

/* Spreads keys over buckets. */
#define SONDA_PROCESS_HASH(key) ((__u32)((key)*0x9e3779b97f4a7c15ull >> 40))

/* Time that threads spend in a state, including threads that are in it now. 48 bits of a word hold
 * the sum of the ends minus the sum of the begins (ns), 16 bits the number of begins minus the
 * number of ends. The time spent until any moment is sum + number * moment. Sums and numbers of
 * several words add up, each with wrap-around. They share one word, so that a reader sees both
 * values of the same update. */
#define SONDA_SPAN_BITS 48
#define SONDA_SPAN_SUM ((1ull << SONDA_SPAN_BITS) - 1)

#ifdef __bpf__
#include "lost.h"

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

/* Buckets of a CPU, minus 1: they are a power of two. Set before the load. */
const volatile __u32 process_mask SEC(".rodata.processes") = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* resized before the load */
	__type(key, __u32);
	__type(value, struct sonda_process_keys);
} process_keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* resized before the load */
	__type(key, __u32);
	__type(value, __u64);
} process_times SEC(".maps");

#define NO_ELEMENT (~0u)

static __always_inline void set_element_time(__u32 element)
{
	__u64 *time = bpf_map_lookup_elem(&process_times, &element);

	if (time)
		*time = bpf_ktime_get_boot_ns();
}

/* Returns the index of an element of this CPU, which is created if it is new; NO_ELEMENT: it finds
 * no place. All places of a key lead to the same code, with an index on which no branch depends. So
 * the verifier follows that code once, and not for each place. */
static __always_inline __u32 find_or_add_element(__u64 key)
{
	__u32 first = bpf_get_smp_processor_id() * (process_mask + 1);
	__u32 element;

#pragma unroll
	for (__u32 i = 0; i < SONDA_PROCESS_PROBES; i++) {
		__u32 bucket = first + ((SONDA_PROCESS_HASH(key) + i) & process_mask);
		struct sonda_process_keys *k = bpf_map_lookup_elem(&process_keys, &bucket);

		if (!k)
			return NO_ELEMENT;
#pragma unroll
		for (__u32 way = 0; way < SONDA_PROCESS_WAYS; way++)
			if (k->keys[way] == key)
				return bucket * SONDA_PROCESS_WAYS + way;
#pragma unroll
		for (__u32 way = 0; way < SONDA_PROCESS_WAYS; way++) {
			if (k->keys[way])
				continue;
			k->keys[way] = key;
			element = bucket * SONDA_PROCESS_WAYS + way;
			goto made;
		}
	}
	return NO_ELEMENT;
made:
	set_element_time(element);
	return element;
}

/* Defines the array "processes" of values of a type, and process_of(), which returns the value of
 * this CPU, or NULL, which is counted as lost. */
#define SONDA_PROCESSES(value_t)                                                                   \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1); /* resized before the load */                              \
		__type(key, __u32);                                                                \
		__type(value, value_t);                                                            \
	} processes SEC(".maps");                                                                  \
	static __always_inline __attribute__((unused)) value_t *process_of(__u32 tgid, __u32 what) \
	{                                                                                          \
		__u32 element = find_or_add_element(SONDA_PROCESS_KEY(tgid, what));                \
		value_t *v = bpf_map_lookup_elem(&processes, &element);                            \
                                                                                                   \
		if (!v)                                                                            \
			count_lost();                                                              \
		return v;                                                                          \
	}
#endif
