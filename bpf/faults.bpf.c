/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Page faults by process. The kernel counts them per thread, in task_struct. The growth since the
 * last check is added to the process. The counts are checked
 *
 *	at the start of a fault (x86 has tracepoints there), and at the end of the thread
 *	otherwise when the thread is switched out: more often, and later
 *
 * At the start of a fault the kernel has not counted it yet: it is "begun", and counts. So "all" is
 * never behind, even if the thread does not fault again; "major" is behind by one fault.
 */
#include "common.h"

#include "faults.h"
#include "thread.h"

struct thread {
	__u64 all, major; /* counts of task_struct at the last check */
	__u32 is_known;
	__u32 begun; /* 1: a fault was counted at its start, before task_struct had it */
};

SONDA_PROCESSES(struct faults)
SONDA_THREADS(struct thread)

#ifdef SONDA_NO_BTF
/* Counts a fault at its start, in `all` only: without BTF the counts in task_struct cannot be read,
 * and whether the fault is a major one, or fails, is not known then. */
static __always_inline void begin_fault(void)
{
	struct faults *v;

	if (!is_current_counted(current_tgid()))
		return;
	v = process_of(current_sums_key(), 0);
	if (v)
		v->all++;
}
#else
/* Adds the growth since the last check. min, maj: current counts of the task. */
static __always_inline void count_new_faults(struct thread *h, __u32 key, __u64 min, __u64 maj,
					     __u32 begun)
{
	__u64 all = min + maj;
	struct faults *v;

	if (!h)
		return;
	if (!h->is_known) {
		h->is_known = 1;
		h->all = all;
		h->major = maj;
	}
	if (h->all == all && h->begun == begun)
		return;
	v = process_of(key, 0);
	if (!v)
		return;
	/* A fault that was counted at its start and then failed is subtracted. */
	v->all += all - h->all + begun - h->begun;
	v->major += maj - h->major;
	h->all = all;
	h->major = maj;
	h->begun = begun;
}

static __always_inline void count_current_faults(__u32 begun)
{
	if (is_current_counted(current_tgid()))
		count_new_faults(current_make(), current_sums_key(), CURRENT(min_flt),
				 CURRENT(maj_flt), begun);
}

static __always_inline void begin_fault(void)
{
	count_current_faults(1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit)
{
	count_current_faults(0);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev)
{
	if (prev->pid)
		count_current_faults(0);
	return 0;
}

/* Registers a new thread before its first switch, so that its first faults are counted. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	if (is_counted(task->tgid, task))
		count_new_faults(thread_make(task), sums_key(task->tgid, task->pid), task->min_flt,
				 task->maj_flt, 0);
	return 0;
}
#endif

SEC(HOOK(exceptions, page_fault_user))
int BPF_PROG(on_fault_user)
{
	begin_fault();
	return 0;
}

/* Begins to measure a fault in the kernel at memory of the process, such as the buffer of a
 * read(). */
SEC(HOOK(exceptions, page_fault_kernel))
int BPF_PROG(on_fault_kernel)
{
	if ((long)ARG(0, FAULTS_ADDRESS) >= 0)
		begin_fault();
	return 0;
}
