/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A histogram of any event (hist.h). The settings have the places of the fields, so the same programs
 * serve all events: they are attached by src/ebpf/histograms/histogram.c, on_value alone, or on_begin and
 * on_end. What the settings exclude is removed when a program is loaded.
 */
#include "common.h"

#include "hist.h"
#include "histogram.h"

const volatile struct hist_settings hist SEC(".rodata.hist") = {};

/* Hashes that allocate their elements only on kernels where that is safe in any event (6.1). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct hist_key);
	__type(value, struct hist_counts);
} counts SEC(".maps");

struct begun_at {
	__u64 of[HIST_MATCHES]; /* values of the fields, or the thread */
};

struct begun {
	__u64 time;
	struct hist_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HIST_BEGUN);
	__type(key, struct begun_at);
	__type(value, struct begun);
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hist_cpu);
} cpus SEC(".maps");

static const struct hist_counts no_counts;

/* Atomic, because events of interrupts interrupt these programs. */
#define COUNT(what)                                                                                \
	do {                                                                                       \
		__u32 zero = 0;                                                                    \
		struct hist_cpu *c = bpf_map_lookup_elem(&cpus, &zero);                            \
		if (c)                                                                             \
			__sync_fetch_and_add(&c->what, 1);                                         \
	} while (0)

/* Reads a number in a record by a helper: the verifier requires constant offsets in a record, the
 * helper does not. */
static __always_inline __u64 read_number(void *record, const volatile struct hist_field *f)
{
	__u32 size = f->size, unused_bits;
	__u64 v = 0;

	if (size == 0 || size > sizeof(v))
		return 0;
	bpf_probe_read_kernel(&v, size, record + f->offset);
	unused_bits = (sizeof(v) - size) * 8;
#if __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__
	v <<= unused_bits;
#endif
	return f->is_signed ? (__u64)((__s64)v >> unused_bits) : v >> unused_bits;
}

static __always_inline __u64 current_cgroup_id(void)
{
#ifdef SONDA_NO_BTF
	return bpf_get_current_cgroup_id();
#else
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
#endif
}

static __always_inline void read_key(void *record, struct hist_key *ret)
{
	__u32 size = hist.key.size;

	switch (hist.key_kind) {
	case HIST_BY_COMM:
		bpf_get_current_comm(ret->text, sizeof(ret->text));
		break;
	case HIST_BY_PID:
		ret->number = bpf_get_current_pid_tgid() >> 32;
		break;
	case HIST_BY_TID:
		ret->number = (__u32)bpf_get_current_pid_tgid();
		break;
	case HIST_BY_CGROUP:
		ret->number = current_cgroup_id();
		break;
	case HIST_BY_CPU:
		ret->number = bpf_get_smp_processor_id();
		break;
	case HIST_BY_NUMBER:
		ret->number = read_number(record, &hist.key);
		break;
	case HIST_BY_TEXT:
		/* Stops at the NUL: the bytes after it are undefined. */
		if (size <= sizeof(ret->text))
			bpf_probe_read_kernel_str(ret->text, size, record + hist.key.offset);
		break;
	}
}

/* Returns the bucket of a value. is_signed: a number from 2^63 on is negative. */
static __always_inline __u32 find_bucket(__u64 v, int is_signed)
{
	__u64 from_min;

	if (!hist.n_steps) {
		if (is_signed && (__s64)v < 0)
			return 0;
		return v ? 2 + sonda_highest_bit(v) : 1;
	}
	if ((__s64)v < 0 && !is_signed)
		return 1 + hist.n_steps;
	if ((__s64)v < hist.min)
		return 0;
	from_min = (v - (__u64)hist.min) / hist.step;
	return from_min < hist.n_steps ? 1 + from_min : 1 + hist.n_steps;
}

static __always_inline void add_value(const struct hist_key *key, __u64 v, int is_signed)
{
	struct hist_counts *c = bpf_map_lookup_elem(&counts, key);
	__u32 i = find_bucket(v, is_signed);

	if (!c) {
		bpf_map_update_elem(&counts, key, &no_counts, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&counts, key);
	}
	/* The verifier does not see the bounds. */
	asm volatile("" : "+r"(i));
	if (!c || i >= HIST_BUCKETS) {
		COUNT(no_key);
		return;
	}
	__sync_fetch_and_add(&c->total, (__s64)v);
	__sync_fetch_and_add(&c->buckets[i], 1);
}

/* The tracepoints are those of the config. */

SEC("tp")
int on_value(void *record)
{
	struct hist_key key = {};

	if (!is_current_counted(bpf_get_current_pid_tgid() >> 32))
		return 0;
	read_key(record, &key);
	add_value(&key, read_number(record, &hist.value), hist.value.is_signed);
	return 0;
}

static __always_inline void read_begin_key(void *record, const volatile struct hist_field *fields,
					   struct begun_at *ret)
{
	if (!hist.n_matches)
		ret->of[0] = (__u32)bpf_get_current_pid_tgid();
	else
		ret->of[0] = read_number(record, &fields[0]);
	if (hist.n_matches > 1)
		ret->of[1] = read_number(record, &fields[1]);
}

SEC("tp")
int on_begin(void *record)
{
	struct begun_at at = {};
	struct begun b = {};

	if (!is_current_counted(bpf_get_current_pid_tgid() >> 32))
		return 0;
	read_begin_key(record, hist.begin, &at);
	read_key(record, &b.key);
	b.time = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&begun, &at, &b, BPF_ANY))
		COUNT(no_begin);
	return 0;
}

SEC("tp")
int on_end(void *record)
{
	__u64 now = bpf_ktime_get_ns();
	struct begun_at at = {};
	struct hist_key key;
	struct begun *b;
	__u64 took;

	read_begin_key(record, hist.end, &at);
	b = bpf_map_lookup_elem(&begun, &at);
	if (!b)
		return 0;
	took = now - b->time;
	key = b->key;
	bpf_map_delete_elem(&begun, &at);
	add_value(&key, took, 1);
	return 0;
}
