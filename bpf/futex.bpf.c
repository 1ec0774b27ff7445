/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Futex waits: identified by the number and operation of the system call. The tracepoints are those
 * of all system calls, so the first check skips all others. The family "syscalls" looks up the
 * storage of the thread at each call, this one at futex calls only.
 */
#include "common.h"

#include "call_regs.h"
#include "futex.h"

struct thread {
	__u64 since; /* 0: it does not wait */
};

SONDA_PROCESSES(struct futex)
SONDA_THREADS(struct thread)

/* Numbers of futex calls. NR_COMPAT: of i386 and arm, which have NR_COMPAT_TIME64 for 64-bit times.
 * NR_WAITV and NR_WAIT are the same on all architectures. */
#define NR_X86_64 202
#define NR_ARM64 98
#define NR_COMPAT 240
#define NR_COMPAT_TIME64 422
#define NR_WAITV 449
#define NR_WAIT 455

/* linux/futex.h; the other bits select the clock, and futexes of one process. */
#define OPERATION 0x7f
#define WAIT 0
#define LOCK_PI 6
#define WAIT_BITSET 9
#define WAIT_REQUEUE_PI 11
#define LOCK_PI2 13

#define EAGAIN 11

/* Returns 1 if the number is a futex call in the 64-bit table or in the 32-bit one. */
static __always_inline int may_be_futex(long nr)
{
	if (nr == NR_COMPAT || nr == NR_COMPAT_TIME64 || nr == NR_WAITV || nr == NR_WAIT)
		return 1;
	return nr == (settings.switches & SONDA_ON_X86_64 ? NR_X86_64 : NR_ARM64);
}

static __always_inline __u32 read_second_argument(void *regs, int compat)
{
	if (settings.switches & SONDA_ON_X86_64)
		return compat ? CALL_REG(regs, x86_64, cx) : CALL_REG(regs, x86_64, si);
	return CALL_REG(regs, arm64, regs[1]);
}

static __always_inline int is_futex_wait(void *regs, long nr)
{
	int compat;
	__u32 op;

	if (nr == NR_WAITV || nr == NR_WAIT)
		return 1;
	compat = call_is_compat(regs);
	if (compat != (nr == NR_COMPAT || nr == NR_COMPAT_TIME64))
		return 0;
	op = read_second_argument(regs, compat) & OPERATION;
	return op == WAIT || op == WAIT_BITSET || op == LOCK_PI || op == LOCK_PI2 ||
	       op == WAIT_REQUEUE_PI;
}

SEC(HOOK(raw_syscalls, sys_enter))
int BPF_PROG(on_enter, void *regs, long nr)
{
	struct thread *h;

	if (!may_be_futex(nr) || !is_futex_wait(regs, nr))
		return 0;
	if (!is_current_counted(current_tgid()))
		return 0;
	h = current_make();
	if (h)
		h->since = bpf_ktime_get_boot_ns();
	return 0;
}

static __always_inline long read_call_number(void *regs)
{
	if (settings.switches & SONDA_ON_X86_64)
		return CALL_REG(regs, x86_64, orig_ax);
	return CALL_REG(regs, arm64, syscallno);
}

SEC(HOOK(raw_syscalls, sys_exit))
int BPF_PROG(on_exit, void *regs, long ret)
{
	struct thread *h;
	struct futex *v;
	__u64 since;

	if (!may_be_futex(read_call_number(regs)))
		return 0;
	h = current_get();
	if (!h || !h->since)
		return 0;
	since = h->since;
	h->since = 0;
	/* The futex had another value, so the thread did not wait. */
	if (ret == -EAGAIN)
		return 0;
	v = process_of(current_sums_key(), 0);
	if (!v)
		return 0;
	v->ns += bpf_ktime_get_boot_ns() - since;
	v->waits++;
	return 0;
}
