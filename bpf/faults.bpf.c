/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Page faults by process. The kernel has them in task_struct, by thread: what these counts grew by
 * since we last looked is added to the process's. We look
 *
 *	where a fault begins (x86 has tracepoints there), and at the thread's end
 *	elsewhere when the thread is switched out: more often, and later
 *
 * Where a fault begins, the kernel has not counted it yet: it is "begun", and counts. So "all" is
 * never behind, also of a thread that does not fault again; "major" is by that one fault.
 */
#include "common.h"

#include "faults.h"
#include "thread.h"

struct thread {
	__u64 all, major; /* of task_struct, when we last looked */
	__u32 is_known;
	__u32 begun; /* 1: a fault that counts already */
};

SONDA_PROCESSES(struct faults)
SONDA_THREADS(struct thread)

static __always_inline void look(struct task_struct *t, __u32 begun)
{
	__u64 all = t->min_flt + t->maj_flt, major = t->maj_flt;
	struct faults *v;
	struct thread *h;

	if (!is_counted(t->tgid, t))
		return;
	h = thread_make(t);
	if (!h)
		return;
	if (!h->is_known) {
		h->is_known = 1;
		h->all = all;
		h->major = major;
	}
	if (h->all == all && h->begun == begun)
		return;
	v = process_of(t->tgid, 0);
	if (!v)
		return;
	/* Where a fault that began has failed, one that counted already is taken back. */
	v->all += all - h->all + begun - h->begun;
	v->major += major - h->major;
	h->all = all;
	h->major = major;
	h->begun = begun;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault_user, unsigned long address)
{
	look(bpf_get_current_task_btf(), 1);
	return 0;
}

/* In the kernel, at memory of the process: such as where read() puts what it has read. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_fault_kernel, unsigned long address)
{
	if ((long)address >= 0)
		look(bpf_get_current_task_btf(), 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	look(task, 0);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev)
{
	if (prev->pid)
		look(prev, 0);
	return 0;
}

/* So that those of a new thread until it is switched out are not taken for old ones. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	look(task, 0);
	return 0;
}
