/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Run-queue latency, and the depth of the queues. A wait starts when a thread is woken, or switched
 * out while runnable; it ends when the thread is switched in. Its begin is kept with the thread, so
 * migrations do not matter. (sched_info.last_queued has it as well, but with a clock that stands
 * still between a wakeup and the switch it causes: short waits would be 0.)
 *
 * A thread that was throttled when it left its CPU, or when it was woken, does not wait for a CPU
 * but for the quota of its control group. Such a wait is not in the histogram.
 */
#include "common.h"
#include "outliers.h"
#include "runq.h"

#include "cgroup_waits.h"
#include "slots.h"
#include "throttled.h"

struct waiting {
	__u64 since; /* 0: it does not wait, or we have not seen the beginning */
	__u64 is_throttled;
};

SONDA_SLOTS(struct waiting)

/* Reports a long wait. The thread that ran before is the last cause of it. */
static __always_inline void report_outlier(struct task_struct *t, struct task_struct *ran,
					   __u64 since, __u64 wait)
{
	struct sonda_event_text *e = outlier_begin(wait, since, t->tgid, t->pid);

	if (!e)
		return;
	OUTLIER_NAME(e, "runq wait");
	OUTLIER_VALUE(e, 0, "ran before tid", ran->pid);
	OUTLIER_VALUE(e, 1, "ran before pid", ran->tgid);
	OUTLIER_VALUE(e, 2, "cpu", bpf_get_smp_processor_id());
	OUTLIER_TEXT(e, "ran before", ran->comm);
	outlier_end(e);
}

static __always_inline __u64 cgroup_id_of_task(struct task_struct *t)
{
	return t->cgroups->dfl_cgrp->kn->id;
}

/* Adds a wait to those of the thread's control group. ran: the thread that had the CPU, which is
 * the last cause of the wait. */
static __always_inline void count_by_cgroup(struct runq_cpu *c, struct task_struct *t,
					    struct task_struct *ran, int is_throttled, __u64 wait)
{
	__u64 group = cgroup_id_of_task(t);
	__u32 cause = CGROUP_WAIT_NEIGHBOUR;

	if (is_throttled)
		cause = CGROUP_WAIT_QUOTA;
	else if (!ran->pid)
		cause = CGROUP_WAIT_IDLE;
	else if (ran->flags & PF_KTHREAD)
		cause = CGROUP_WAIT_KERNEL;
	else if (cgroup_id_of_task(ran) == group)
		cause = CGROUP_WAIT_OWN;
	if (!cgroup_waits_add(group, cause, wait))
		c->cgroups_lost++;
}

static __always_inline void end_wait(struct runq_cpu *c, struct task_struct *t,
				     struct task_struct *ran, __u64 now)
{
	struct waiting *w = slot_get(t);
	__u64 since, wait;

	if (!w || !w->since)
		return;
	since = w->since;
	/* Another CPU's clock may be ahead by a little. */
	wait = now > since ? now - since : 0;
	w->since = 0;
	if (!is_counted(t->tgid, t))
		return;
	if (settings.switches & RUNQ_BY_CGROUP)
		count_by_cgroup(c, t, ran, w->is_throttled, wait);
	if (w->is_throttled) {
		c->throttled_ns += wait;
		return;
	}
	count_wait(c, wait);
	report_outlier(t, ran, since, wait);
}

static __always_inline void count_depth(struct runq_cpu *c, struct rq *rq, int idle, __u64 now)
{
	__u64 n = rq->nr_running;

	if (settings.switches & RUNQ_NO_SLEEPERS)
		n -= rq->cfs.h_nr_queued - rq->cfs.h_nr_runnable;
	if (!idle && n)
		n--; /* the thread that runs */
	c->depth_ns += c->depth * (now - c->clock);
	c->clock = now;
	c->depth = n;
	sonda_max_put(&c->depth_max, generation, n);
}

/* Begins the wait of a thread that is woken. A thread that is about to sleep may be woken before it
 * does. If the thread has been switched out by then, its wait begins at the switch; if it still
 * runs, handle_switch_out() decides. */
static __always_inline int begin_wait_at_wakeup(struct task_struct *t)
{
	struct waiting *w = slot_make(t);

	if (w && !w->since) {
		w->since = bpf_ktime_get_boot_ns();
		w->is_throttled = is_throttled(t);
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return begin_wait_at_wakeup(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return begin_wait_at_wakeup(task);
}

/* Returns the state at the switch. The field of the task may have changed since. */
static __always_inline __u64 state_at_switch(unsigned long long *ctx, struct task_struct *prev)
{
	if (settings.switches & RUNQ_HAS_STATE)
		return (unsigned int)ctx[3];
	return task_state(prev);
}

/* Handles a thread that was switched out: it waits for a CPU, sleeps, or has ended. */
static __always_inline void handle_switch_out(struct task_struct *t, bool preempt, __u64 state,
					      __u64 now)
{
	int would_run = preempt || state == TASK_RUNNING;
	struct waiting *w;

	if (!would_run && (state & TASK_DEAD)) {
		slot_end(t);
		return;
	}
	w = would_run ? slot_make(t) : slot_get(t);
	if (!w)
		return;
	w->since = would_run ? now : 0;
	w->is_throttled = would_run && is_throttled(t);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct runq_cpu *c = this_cpu();
	__u64 now = bpf_ktime_get_boot_ns();

	if (!c)
		return 0;
	c->switches++;
	count_depth(c, next->se.cfs_rq->rq, next->pid == 0, now);
	if (prev->pid)
		handle_switch_out(prev, preempt, state_at_switch(ctx, prev), now);
	if (next->pid)
		end_wait(c, next, prev, now);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int to)
{
	return count_migration(to);
}
