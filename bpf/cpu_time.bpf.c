/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The states of the threads of a process. A thread is in one state at any moment. Each change ends
 * a span of its process and starts another:
 *
 *	switched in     -> on CPU
 *	switched out    -> runnable, sleeping, blocked, other: by its state then
 *	woken           -> runnable
 *	switched out dead: no state
 *
 * A thread counts from its first change. All three tracepoints run with interrupts off.
 *
 * The span "on CPU" belongs to the CPU, which has one at most. So the times on CPUs never add up to
 * more than the CPUs had. A kernel may skip the program at a switch: some virtual machines do so
 * while a thread of PID 1 is current. Then the next switch on that CPU names another thread as the
 * one that leaves. It is unknown when the thread of the span left, so that switch takes the span
 * back, counts a lost change, and treats the thread as off the CPU from then on.
 */
#include "common.h"

#include "cpu_time.h"
#include "slots.h"

#ifdef SONDA_RECORDS
#include "switch_records.h"
#endif

struct thread {
	__u16 state; /* enum cpu_time_state + 1; 0: not known yet, or over */
	__u16 cpu; /* on which it was switched in last */
#ifdef SONDA_RECORDS
	struct owner owner;
#endif
};

/* The thread that has the span "on CPU" of this CPU. */
struct running {
	__u64 who; /* its stack; without BTF its pid; 0: none */
	__u64 since; /* begin of the span, ns */
	__u32 key; /* of the sums that have its begin */
	__u32 pid;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct running);
} running SEC(".maps");

SONDA_PROCESSES(struct cpu_time)
SONDA_SLOTS(struct thread)

#define NONE 0
#define STATE(s) (CPU_TIME_##s + 1)

static __always_inline struct running *running_on_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&running, &zero);
}

/* Ends the span of a state other than "on CPU", and starts that of another. */
static __always_inline void change_state(struct thread *h, struct cpu_time *v, __u32 to, __u64 now)
{
	__u64 off = (__u64)h->state - STATE(RUNNABLE), begun = (__u64)to - 1;

	if (h->state == to)
		return;
	/* The verifier of Linux 6.1 and 5.10 bounds only the register that was compared. */
	asm volatile("" : "+r"(off), "+r"(begun));
	if (off < CPU_TIME_STATES - CPU_TIME_RUNNABLE)
		sonda_span_end(&v->in[CPU_TIME_RUNNABLE + off], now);
	if (to > STATE(ON) && begun < CPU_TIME_STATES)
		sonda_span_begin(&v->in[begun], now);
	h->state = to;
}

/* Starts the span "runnable" of a thread, which may be woken before it is switched out. */
static __always_inline void make_runnable(struct thread *h, __u32 key)
{
	struct cpu_time *v;

	if (h->state == STATE(ON) || h->state == STATE(RUNNABLE))
		return;
	v = process_of(key, 0);
	if (v)
		change_state(h, v, STATE(RUNNABLE), bpf_ktime_get_boot_ns());
}

/* Begins the span "on CPU" of a thread on this CPU. Without room for its process the thread keeps
 * its state, because the end of its span must be counted eventually. */
static __always_inline void begin_on_cpu(struct running *r, struct thread *h, __u64 who, __u32 key,
					 __u32 pid, __u64 now)
{
	struct cpu_time *v = process_of(key, 0);

	if (!v)
		return;
	change_state(h, v, STATE(ON), now);
	h->cpu = bpf_get_smp_processor_id();
	sonda_span_begin(&v->in[CPU_TIME_ON], now);
	r->who = who;
	r->since = now;
	r->key = key;
	r->pid = pid;
}

/* Ends the span "on CPU" of a thread, if it had that of this CPU (was_on), and begins the span of
 * its next state. h: NULL if there was no memory for the thread. on_key: r->key if was_on; it
 * differs from key if execve() has changed the id of the thread since then. */
static __always_inline void end_on_cpu(struct thread *h, int was_on, __u32 on_key, __u32 key,
				       __u32 to, __u64 now)
{
	struct cpu_time *v = process_of(key, 0), *on = v;

	if (was_on && settings.switches & SONDA_BY_THREAD)
		on = process_of(on_key, 0);
	if (!v)
		return;
	if (was_on && on)
		sonda_span_end(&on->in[CPU_TIME_ON], now);
	if (h)
		change_state(h, v, to, now);
}

/* Takes back the span of a thread whose switch away from this CPU was not seen. h: the thread, NULL
 * if it is not found. It may run on another CPU by now. */
static __always_inline void take_back_span(const struct running *r, struct thread *h, __u64 now)
{
	struct cpu_time *v = process_of(r->key, 0);

	count_lost();
	if (!v)
		return;
	sonda_span_end(&v->in[CPU_TIME_ON], r->since);
	if (h && h->state == STATE(ON) && h->cpu == (__u16)bpf_get_smp_processor_id())
		change_state(h, v, STATE(OTHER), now);
}

#ifndef SONDA_RECORDS
static __always_inline __u32 state_after_switch(bool preempt, __u64 state)
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

static __always_inline int handle_wakeup(struct task_struct *t)
{
	struct thread *h;

	if (!is_counted(t->tgid, t))
		return 0;
	h = slot_make(t);
	if (h)
		make_runnable(h, sums_key(t->tgid, t->pid));
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return handle_wakeup(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return handle_wakeup(task);
}

static __always_inline void switch_out(const struct running *r, struct task_struct *t, __u32 to,
				       __u64 now)
{
	int was_on = r->who == (__u64)t->stack;

	if (r->who && !was_on)
		take_back_span(r, slot_find(r->who, r->pid), now);
	if (!t->pid || !is_counted(t->tgid, t)) {
		if (!was_on)
			return;
		to = NONE; /* it left the control groups that count */
	}
	end_on_cpu(slot_make(t), was_on, r->key, sums_key(t->tgid, t->pid), to, now);
}

static __always_inline void switch_in(struct running *r, struct task_struct *t, __u64 now)
{
	struct thread *h;

	r->who = 0;
	if (!t->pid || !is_counted(t->tgid, t))
		return;
	h = slot_make(t);
	if (h)
		begin_on_cpu(r, h, (__u64)t->stack, sums_key(t->tgid, t->pid), t->pid, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_boot_ns(), state;
	struct running *r = running_on_this_cpu();

	if (!r)
		return 0;
	if (settings.switches & CPU_TIME_HAS_STATE)
		state = (unsigned int)ctx[3];
	else
		state = task_state(prev);
	switch_out(r, prev, state_after_switch(preempt, state), now);
	/* Before switch_in(): the verifier then follows the paths of that call only once. */
	if (!preempt && (state & TASK_DEAD))
		slot_end(prev);
	switch_in(r, next, now);
	return 0;
}
#else
static __always_inline __u32 state_after_switch(__u64 state)
{
	if (is_state_runnable(state))
		return STATE(RUNNABLE);
	if (state & RECORD_DEAD)
		return NONE;
	if (state & RECORD_SLEEPING)
		return STATE(SLEEPING);
	return state & RECORD_BLOCKED ? STATE(BLOCKED) : STATE(OTHER);
}

SONDA_NEW_THREADS(struct thread)

static __always_inline int handle_wakeup(__u32 pid)
{
	struct thread *h = thread_get_by_pid(pid);

	if (h && h->owner.is_counted)
		make_runnable(h, sums_key(h->owner.tgid, pid));
	return 0;
}

SEC("tp/sched/sched_wakeup")
int BPF_PROG(on_wakeup)
{
	return handle_wakeup(ARG(0, SWITCH_WOKEN));
}

SEC("tp/sched/sched_wakeup_new")
int BPF_PROG(on_wakeup_new)
{
	return handle_wakeup(ARG(0, SWITCH_WOKEN_NEW));
}

static __always_inline void switch_out(const struct running *r, __u32 pid, __u64 state, __u64 now)
{
	struct thread *h = pid ? thread_make_by_pid(pid) : NULL;
	int was_on = r->who == pid;

	if (r->who && !was_on)
		take_back_span(r, thread_get_by_pid(r->pid), now);
	if (h)
		set_owner(&h->owner, current_tgid());
	if (r->who && was_on)
		end_on_cpu(h, 1, r->key, sums_key(r->key, pid), state_after_switch(state), now);
	else if (h && h->owner.is_counted)
		end_on_cpu(h, 0, 0, sums_key(h->owner.tgid, pid), state_after_switch(state), now);
	if (h && (state & RECORD_DEAD))
		bpf_map_delete_elem(&threads_by_pid, &pid);
}

/* Follows the change of a thread's id: a thread other than the leader that calls exec() gets the id
 * of the leader. It is the running thread. */
SEC("tp/sched/sched_process_exec")
int BPF_PROG(on_exec)
{
	__u32 old = ARG(0, SWITCH_EXEC_OLD), pid = ARG(0, SWITCH_EXEC);
	struct running *r = running_on_this_cpu();

	if (old == pid)
		return 0;
	if (r && r->who == old)
		r->who = pid;
	bpf_map_delete_elem(&threads_by_pid, &old);
	return 0;
}

SEC("tp/sched/sched_switch")
int BPF_PROG(on_switch)
{
	__u32 next = ARG(0, SWITCH_NEXT);
	__u64 now = bpf_ktime_get_boot_ns();
	struct running *r = running_on_this_cpu();
	struct thread *h;

	if (!r)
		return 0;
	switch_out(r, ARG(0, SWITCH_PREV), ARG(0, SWITCH_STATE), now);
	r->who = 0;
	h = next ? thread_get_by_pid(next) : NULL;
	if (h && h->owner.is_counted)
		begin_on_cpu(r, h, next, sums_key(h->owner.tgid, next), next, now);
	return 0;
}
#endif
