/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The states of the threads of a process. A thread is in one state at any moment. Each change ends
 * a span of its process and starts another:
 *
 *	switched in     -> on CPU
 *	switched out    -> runnable, sleeping, blocked, other: by its state then
 *	woken           -> runnable
 *	switched out dead: none any more
 *
 * A thread counts from its first change. All three tracepoints run with interrupts off.
 */
#include "common.h"

#include "cpu_time.h"
#include "slots.h"

#ifdef SONDA_RECORDS
#include "switch_records.h"
#endif

struct thread {
	__u32 state; /* enum cpu_time_state + 1; 0: not known yet, or over */
#ifdef SONDA_RECORDS
	struct owner owner;
#endif
};

SONDA_PROCESSES(struct cpu_time)
SONDA_SLOTS(struct thread)

#define NONE 0
#define STATE(s) (CPU_TIME_##s + 1)

/*
 * Without room the thread keeps its state, because the end of its span must be counted eventually.
 */
static __always_inline void change(struct thread *h, __u32 tgid, __u32 to, __u64 now)
{
	__u32 from = h->state;
	struct cpu_time *v;

	if (from == to)
		return;
	v = process_of(tgid, 0);
	if (!v)
		return;
	if (from && from <= CPU_TIME_STATES)
		sonda_span_end(&v->in[from - 1], now);
	if (to)
		sonda_span_begin(&v->in[to - 1], now);
	h->state = to;
}

#ifndef SONDA_RECORDS
static __always_inline __u32 class_of(bool preempt, __u64 state)
{
	if (preempt || state == TASK_RUNNING)
		return STATE(RUNNABLE);
	if (state & TASK_DEAD)
		return NONE;
	if (state & TASK_INTERRUPTIBLE)
		return STATE(SLEEPING);
	if ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD))
		return STATE(BLOCKED);
	return STATE(OTHER);
}

static __always_inline int wake(struct task_struct *t)
{
	struct thread *h;

	if (!is_counted(t->tgid, t))
		return 0;
	h = slot_make(t);
	/* A thread may be woken before it has gone to sleep. */
	if (h && h->state != STATE(ON))
		change(h, t->tgid, STATE(RUNNABLE), bpf_ktime_get_boot_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return wake(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return wake(task);
}

static __always_inline void switch_one(struct task_struct *t, __u32 to, __u64 now)
{
	struct thread *h;

	if (!t->pid || !is_counted(t->tgid, t))
		return;
	h = slot_make(t);
	if (h)
		change(h, t->tgid, to, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_boot_ns(), state;

	if (settings.switches & CPU_TIME_HAS_STATE)
		state = (unsigned int)ctx[3];
	else
		state = task_state(prev);
	switch_one(prev, class_of(preempt, state), now);
	/*
	 * Before switch_one() of the next thread: the verifier then follows the paths of that call
	 * only once.
	 */
	if (!preempt && (state & TASK_DEAD))
		slot_end(prev);
	switch_one(next, STATE(ON), now);
	return 0;
}
#else
static __always_inline __u32 class_of(__u64 state)
{
	if (record_would_run(state))
		return STATE(RUNNABLE);
	if (state & RECORD_DEAD)
		return NONE;
	if (state & RECORD_SLEEPING)
		return STATE(SLEEPING);
	return state & RECORD_BLOCKED ? STATE(BLOCKED) : STATE(OTHER);
}

SONDA_NEW_THREADS(struct thread)

static __always_inline int wake(__u32 pid)
{
	struct thread *h = thread_get_by_pid(pid);

	if (h && h->owner.is_counted && h->state != STATE(ON))
		change(h, h->owner.tgid, STATE(RUNNABLE), bpf_ktime_get_boot_ns());
	return 0;
}

SEC("tp/sched/sched_wakeup")
int BPF_PROG(on_wakeup)
{
	return wake(ARG(0, SWITCH_WOKEN));
}

SEC("tp/sched/sched_wakeup_new")
int BPF_PROG(on_wakeup_new)
{
	return wake(ARG(0, SWITCH_WOKEN_NEW));
}

static __always_inline void leave(__u32 pid, __u64 state, __u64 now)
{
	struct thread *h = thread_make_by_pid(pid);

	if (!h)
		return;
	know_owner(&h->owner, current_tgid());
	if (h->owner.is_counted)
		change(h, h->owner.tgid, class_of(state), now);
	if (state & RECORD_DEAD)
		bpf_map_delete_elem(&threads_by_pid, &pid);
}

/* A thread other than the leader that calls exec() becomes the leader. */
SEC("tp/sched/sched_process_exec")
int BPF_PROG(on_exec)
{
	__u32 old = ARG(0, SWITCH_EXEC_OLD);
	struct thread *h;

	if (old == (__u32)ARG(0, SWITCH_EXEC))
		return 0;
	h = thread_get_by_pid(old);
	if (!h)
		return 0;
	change(h, h->owner.tgid, NONE, bpf_ktime_get_boot_ns());
	bpf_map_delete_elem(&threads_by_pid, &old);
	return 0;
}

SEC("tp/sched/sched_switch")
int BPF_PROG(on_switch)
{
	__u32 prev = ARG(0, SWITCH_PREV), next = ARG(0, SWITCH_NEXT);
	__u64 now = bpf_ktime_get_boot_ns();
	struct thread *h;

	if (prev)
		leave(prev, ARG(0, SWITCH_STATE), now);
	h = next ? thread_get_by_pid(next) : NULL;
	if (h && h->owner.is_counted)
		change(h, h->owner.tgid, STATE(ON), now);
	return 0;
}
#endif
