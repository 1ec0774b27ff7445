/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * System calls by process and call, when they return: count, time, errors. The begin and the number
 * are kept with the thread, because the number may differ at the return (rt_sigreturn has -1).
 * These are the two hottest tracepoints: the entry costs a clock read and the slot of the thread,
 * the exit the same and one look-up.
 */
#include "common.h"

#include "syscalls.h"
#include "slots.h"

#include "call_regs.h"

struct thread {
	__u64 since; /* 0: in no call */
	__u32 what;
};

SONDA_PROCESSES(struct syscalls)
SONDA_SLOTS(struct thread)

#define ERRNO_MAX 4095
/* Codes inside the kernel: the call is restarted or returns EINTR, which is decided later. */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516

static __always_inline int is_error(long ret)
{
	return ret < 0 && ret >= -ERRNO_MAX && (ret > -ERESTART_FIRST || ret < -ERESTART_LAST);
}

static __always_inline __u32 limit_call_number(long nr)
{
	return nr < 0 ? SYSCALLS_NONE : nr & SYSCALLS_NONE;
}

/* Counts a call of the thread, which is over. */
static __always_inline void count_call(struct thread *h, __u32 key, long ret)
{
	__u64 since = h->since;
	struct syscalls *v;

	h->since = 0;
	v = process_of(key, settings.switches & SYSCALLS_NO_NAMES ? 0 : h->what);
	if (!v)
		return;
	v->count++;
	v->ns += bpf_ktime_get_boot_ns() - since;
	v->errors += is_error(ret);
}

#ifndef SONDA_NO_BTF
static __always_inline __u32 key_of_call(struct task_struct *t, long nr)
{
	__u32 what = limit_call_number(nr);

	if (settings.switches & SYSCALLS_COMPAT_IN_STATUS) {
		if (t->thread_info.status & TS_COMPAT)
			what |= SYSCALLS_COMPAT;
	} else if (settings.switches & SYSCALLS_COMPAT_IN_FLAGS) {
		if (t->thread_info.flags >> TIF_32BIT & 1)
			what |= SYSCALLS_COMPAT;
	}
	return what;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, void *regs, long nr)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread *h;

	if (!is_counted(t->tgid, t))
		return 0;
	h = slot_make(t);
	if (!h)
		return 0;
	h->what = key_of_call(t, nr);
	h->since = bpf_ktime_get_boot_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, void *regs, long ret)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread *h = slot_get(t);

	if (h && h->since)
		count_call(h, sums_key(t->tgid, t->pid), ret);
	return 0;
}

/* Drops the call of a thread that exits: it does not return any more. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_exit, struct task_struct *task)
{
	slot_end(task);
	return 0;
}
#else
SEC("raw_tp/sys_enter")
int BPF_PROG(on_enter, void *regs, long nr)
{
	struct thread *h;

	if (!is_current_counted(current_tgid()))
		return 0;
	h = current_make();
	if (!h)
		return 0;
	h->what = limit_call_number(nr) | (call_is_compat(regs) ? SYSCALLS_COMPAT : 0);
	h->since = bpf_ktime_get_boot_ns();
	return 0;
}

SEC("raw_tp/sys_exit")
int BPF_PROG(on_exit, void *regs, long ret)
{
	struct thread *h = current_get();

	if (h && h->since)
		count_call(h, current_sums_key(), ret);
	return 0;
}
#endif
