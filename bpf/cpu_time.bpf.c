/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Where the time of a process's threads goes. A thread is in one state at any moment; each change
 * ends a span of its process and begins another one:
 *
 *	switched in     -> on CPU
 *	switched out    -> runnable, sleeping, blocked, other: by its state then
 *	woken           -> runnable
 *	switched out dead: none any more
 *
 * A thread counts from its first change on. All three hooks run with interrupts off.
 */
#include "common.h"

#include "cpu_time.h"
#include "thread.h"

struct thread {
	__u32 state; /* enum cpu_time_state + 1; 0: not known yet, or over */
};

SONDA_PROCESSES(struct cpu_time)
SONDA_THREADS(struct thread)

#define NONE 0
#define STATE(s) (CPU_TIME_##s + 1)

/* Where there is no room the thread stays in its state, for the end of its span must be counted
 * sooner or later. */
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
	h = thread_make(t);
	/* It may be woken before it has gone to sleep. */
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
	h = thread_make(t);
	if (h)
		change(h, t->tgid, to, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_boot_ns(), state;

	if (settings.switches & CPU_TIME_STATE_IS_TOLD)
		state = (unsigned int)ctx[3];
	else
		state = task_state(prev);
	switch_one(prev, class_of(preempt, state), now);
	switch_one(next, STATE(ON), now);
	return 0;
}
