/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Stalls of threads for memory: reclaim and compaction, and OOM kills. Such a thread sleeps and
 * migrates; the begin is kept under its pid. A thread has at most one stall of each kind.
 */
#include "common.h"

#include "memory.h"
#include "outliers.h"

#define PF_KTHREAD 0x00200000

struct stall {
	__u32 pid, kind; /* enum memory_stall */
};

struct begun {
	__u64 since;
	__u64 order; /* of the requested pages; 0 for compaction */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct stall);
	__type(value, struct begun);
} stalls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct memory_cpu);
} cpus SEC(".maps");

static __always_inline struct memory_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void begin_stall(__u32 kind, __u64 order)
{
	const struct begun now = {.since = bpf_ktime_get_boot_ns(), .order = order};
	__u64 id = bpf_get_current_pid_tgid();
	struct stall key = {.pid = (__u32)id, .kind = kind};
	struct memory_cpu *c;

	if (!is_current_counted(id >> 32) || bpf_map_update_elem(&stalls, &key, &now, BPF_ANY) == 0)
		return;
	c = this_cpu();
	if (c)
		__sync_fetch_and_add(&c->lost, 1);
}

static __always_inline void report_outlier(__u32 kind, const struct begun *b, __u64 ns, __u64 pages)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct sonda_event_text *e = outlier_begin(ns, b->since, id >> 32, (__u32)id);

	if (!e)
		return;
	switch (kind) {
	case MEMORY_DIRECT_RECLAIM:
		OUTLIER_NAME(e, "direct reclaim");
		break;
	case MEMORY_CGROUP_RECLAIM:
		OUTLIER_NAME(e, "control group reclaim");
		break;
	case MEMORY_COMPACTION:
		OUTLIER_NAME(e, "compaction");
		break;
	default:
		OUTLIER_NAME(e, "background compaction");
	}
	if (kind == MEMORY_DIRECT_RECLAIM || kind == MEMORY_CGROUP_RECLAIM) {
		OUTLIER_VALUE(e, 0, "order", b->order);
		OUTLIER_VALUE(e, 1, "pages", pages);
	}
	outlier_end(e);
}

static __always_inline void end_stall(__u32 kind, __u64 pages)
{
	struct stall key = {.pid = (__u32)bpf_get_current_pid_tgid(), .kind = kind};
	struct begun *b = bpf_map_lookup_elem(&stalls, &key);
	struct memory_cpu *c = this_cpu();
	__u64 ns;

	if (!b)
		return;
	ns = bpf_ktime_get_boot_ns() - b->since;
	/* Atomic, because the thread may be preempted here. */
	if (c) {
		__sync_fetch_and_add(&c->stalls[kind].ns, ns);
		__sync_fetch_and_add(&c->stalls[kind].count, 1);
	}
	report_outlier(kind, b, ns, pages);
	bpf_map_delete_elem(&stalls, &key);
}

/* Defines the two programs of a stall. order and pages are expressions, evaluated in them. */
#define STALL(group, event, kind, order, pages)                                                    \
	SEC(HOOK(group, event##_begin)) int BPF_PROG(event##_begin)                                \
	{                                                                                          \
		begin_stall(kind, order);                                                          \
		return 0;                                                                          \
	}                                                                                          \
	SEC(HOOK(group, event##_end)) int BPF_PROG(event##_end)                                    \
	{                                                                                          \
		end_stall(kind, pages);                                                            \
		return 0;                                                                          \
	}

#ifdef SONDA_NO_BTF
/* Returns the kind of a compaction: background if the thread is kcompactd. Without BTF the flags of
 * a task cannot be read, so kcompactd is known by its name. */
static __always_inline __u32 compaction_kind(void)
{
	static const char background[] = "kcompactd";
	char comm[16] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	for (__u32 i = 0; i < sizeof(background) - 1; i++)
		if (comm[i] != background[i])
			return MEMORY_COMPACTION;
	return MEMORY_BACKGROUND_COMPACTION;
}
#else
static __always_inline __u32 compaction_kind(void)
{
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(t, flags) & PF_KTHREAD ? MEMORY_BACKGROUND_COMPACTION
						    : MEMORY_COMPACTION;
}
#endif

#define ORDER                                                                                      \
	((__u32)(settings.switches & MEMORY_ORDER_IS_SECOND ? ARG(1, MEMORY_ORDER)                 \
							    : ARG(0, MEMORY_ORDER)))
#define PAGES ARG(0, MEMORY_PAGES)

STALL(vmscan, mm_vmscan_direct_reclaim, MEMORY_DIRECT_RECLAIM, ORDER, PAGES)
STALL(vmscan, mm_vmscan_memcg_reclaim, MEMORY_CGROUP_RECLAIM, ORDER, PAGES)
STALL(compaction, mm_compaction, compaction_kind(), 0, 0)

SEC(HOOK(oom, mark_victim))
int BPF_PROG(on_oom_kill)
{
	struct memory_cpu *c = this_cpu();

	if (c)
		__sync_fetch_and_add(&c->oom_kills, 1);
	return 0;
}
