/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Run-queue latency from the records of switches and wakeups (see runq.bpf.c). They do not have the
 * depth of the queues.
 */
#define SONDA_RECORDS
#include "common.h"
#include "outliers.h"
#include "runq.h"
#include "switch_records.h"

struct waiting {
	__u64 since; /* 0: it does not wait, or we have not seen the beginning */
	struct owner owner;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct waiting);
} waits_by_pid SEC(".maps");

static __always_inline struct waiting *thread_make_by_pid(__u32 pid)
{
	struct waiting *w = bpf_map_lookup_elem(&waits_by_pid, &pid);
	const struct waiting none = {};

	if (w)
		return w;
	bpf_map_update_elem(&waits_by_pid, &pid, &none, BPF_NOEXIST);
	w = bpf_map_lookup_elem(&waits_by_pid, &pid);
	if (!w)
		count_lost();
	return w;
}

SONDA_NEW_THREADS(struct waiting)

static __always_inline int begin_wait_at_wakeup(__u32 pid)
{
	struct waiting *w = thread_make_by_pid(pid);

	if (w && !w->since)
		w->since = bpf_ktime_get_boot_ns();
	return 0;
}

SEC("tp/sched/sched_wakeup")
int BPF_PROG(on_wakeup)
{
	return begin_wait_at_wakeup(ARG(0, SWITCH_WOKEN));
}

SEC("tp/sched/sched_wakeup_new")
int BPF_PROG(on_wakeup_new)
{
	return begin_wait_at_wakeup(ARG(0, SWITCH_WOKEN_NEW));
}

/* Reports a long wait. The current thread is being switched out: it is the last cause of the
 * wait. */
static __always_inline void report_outlier(const struct waiting *w, __u32 pid, __u64 wait)
{
	__u64 ran = bpf_get_current_pid_tgid();
	struct sonda_event_text *e = NULL;
	char comm[16] = {};

	if (w->owner.tgid)
		e = outlier_begin(wait, w->since, w->owner.tgid, pid);
	if (!e)
		return;
	bpf_get_current_comm(comm, sizeof(comm));
	OUTLIER_NAME(e, "runq wait");
	OUTLIER_VALUE(e, 0, "ran before tid", (__u32)ran);
	OUTLIER_VALUE(e, 1, "ran before pid", ran >> 32);
	OUTLIER_VALUE(e, 2, "cpu", bpf_get_smp_processor_id());
	OUTLIER_TEXT(e, "ran before", comm);
	outlier_end(e);
}

/* Returns true if the wait is counted. The process of a thread that has not run since the start is
 * unknown, so its wait counts only if all threads do. */
static __always_inline int is_waiting_counted(const struct waiting *w)
{
	return w->owner.tgid ? w->owner.is_counted : settings.scope == SONDA_SCOPE_ALL;
}

static __always_inline void end_wait(struct runq_cpu *c, __u32 pid, __u64 now)
{
	struct waiting *w = bpf_map_lookup_elem(&waits_by_pid, &pid);
	__u64 wait;

	if (!w || !w->since)
		return;
	/* Another CPU's clock may be ahead by a little. */
	wait = now > w->since ? now - w->since : 0;
	if (is_waiting_counted(w)) {
		count_wait(c, wait);
		report_outlier(w, pid, wait);
	}
	w->since = 0;
}

static __always_inline void handle_switch_out(__u32 pid, __u64 state, __u64 now)
{
	struct waiting *w = thread_make_by_pid(pid);

	if (!w)
		return;
	set_owner(&w->owner, bpf_get_current_pid_tgid() >> 32);
	w->since = is_state_runnable(state) ? now : 0;
	if (state & RECORD_DEAD)
		bpf_map_delete_elem(&waits_by_pid, &pid);
}

SEC("tp/sched/sched_switch")
int BPF_PROG(on_switch)
{
	__u32 prev = ARG(0, SWITCH_PREV), next = ARG(0, SWITCH_NEXT);
	struct runq_cpu *c = this_cpu();
	__u64 now = bpf_ktime_get_boot_ns();

	if (!c)
		return 0;
	c->switches++;
	if (prev)
		handle_switch_out(prev, ARG(0, SWITCH_STATE), now);
	if (next)
		end_wait(c, next, now);
	return 0;
}

SEC("tp/sched/sched_migrate_task")
int BPF_PROG(on_migrate)
{
	return count_migration(ARG(0, SWITCH_MIGRATED_TO));
}
