/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * A wait, stall or request that takes longer than its threshold becomes an event: a slice on its
 * thread. Programs and readers include this file; src/ebpf/tracks/family_run.c reads the events. A
 * rate limit for each CPU bounds the cost and the size of the ring. Without a threshold the
 * verifier removes this code.
 */

/* The single value of the per-CPU array "outliers". */
struct sonda_outliers_cpu {
	__u64 second; /* begin of the second of the rate limit, ns */
	__u64 in_second;
	__u64 left_out; /* above the rate limit, or no room in the ring */
};

#ifdef __bpf__
#include "sonda_program.h"

#define OUTLIERS_SECOND 1000000000ull

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} sonda_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sonda_outliers_cpu);
} outliers SEC(".maps");

/* Reserves the event of a thread that took ns, starting at `since`. Tracepoints that interrupt each
 * other may exceed the limit by one. Returns NULL below the threshold or above the limit; otherwise
 * the caller fills it in and calls outlier_end(). */
static __always_inline struct sonda_event_text *outlier_begin(__u64 ns, __u64 since, __u32 tgid,
							      __u32 tid)
{
	struct sonda_event_text *e = NULL;
	struct sonda_outliers_cpu *c;
	__u32 zero = 0;

	if (!settings.outlier_ns || ns <= settings.outlier_ns)
		return NULL;
	c = bpf_map_lookup_elem(&outliers, &zero);
	if (!c)
		return NULL;
	if (since + ns - c->second >= OUTLIERS_SECOND) {
		c->second = since + ns;
		c->in_second = 0;
	}
	if (c->in_second++ < settings.outliers_per_second)
		e = bpf_ringbuf_reserve(&sonda_events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&c->left_out, 1);
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->event.type = SONDA_SLICE;
	e->event.tid = tid;
	e->event.tgid = tgid;
	e->event.time = since;
	e->event.duration = ns;
	return e;
}

#define OUTLIER_NAME(e, literal) __builtin_memcpy((e)->event.name, literal, sizeof(literal))
#define OUTLIER_VALUE(e, i, literal, number)                                                       \
	do {                                                                                       \
		__builtin_memcpy((e)->event.values[i].name, literal, sizeof(literal));             \
		(e)->event.values[i].value = number;                                               \
		(e)->event.n_values = (i) + 1;                                                     \
	} while (0)
#define OUTLIER_TEXT(e, literal, from)                                                             \
	do {                                                                                       \
		__builtin_memcpy((e)->name, literal, sizeof(literal));                             \
		bpf_probe_read_kernel_str((e)->text, sizeof((e)->text), from);                     \
	} while (0)

/* Submits the event without a wakeup: the reader reads once a period. */
static __always_inline void outlier_end(struct sonda_event_text *e)
{
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}
#endif
