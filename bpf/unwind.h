/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

#include "unwind_tables.h"

/*
 * Unwinds the user stack of the running thread. Programs and readers include this file; a program
 * includes common.h before it.
 *
 *	struct unwind_stack *u = unwind_user(ctx);
 *
 * The thread's registers are those at its entry into the kernel, or at the interrupt. From them the
 * walk goes from caller to caller by the tables of unwind_tables.h. Code without rows (compiled at
 * run time, hand-written) is passed by frame pointers, if the frame passes the checks below. A
 * process without tables, a 32-bit program, and a program on arm64 before Linux 5.15 get the kernel's
 * own walk by frame pointers.
 *
 * An address that is in no executable mapping is never reported, except the first one. Everything
 * that is read from the process is checked: a forged stack can only be wrong or short.
 *
 * An object is compiled with bpf_loop(), which Linux 5.17 has, or with SONDA_NO_LOOP defined.
 */

/* Values of Profiling.StackUnwindError. */
enum unwind_error {
	UNWIND_COMPLETE, /* the outermost function was reached */
	UNWIND_NO_MEMORY = 2, /* a page of the stack is not in memory */
	UNWIND_NO_ROWS = 3, /* code without rows and without a valid frame pointer */
	UNWIND_NO_MAPPING = 5, /* the address of a caller is in no executable mapping */
	UNWIND_TOO_DEEP = 6, /* more than UNWIND_FRAMES_MAX frames */
	UNWIND_REPEATED = 7, /* the frame of a caller is not above that of its callee */
};

/* An array of this size allows an index that is masked with UNWIND_FRAMES_MAX. */
#define UNWIND_FRAMES_ROOM (UNWIND_FRAMES_MAX + 1)

/* The result, and the state of the walk. */
struct unwind_stack {
	__u32 n; /* addresses */
	__u32 error; /* enum unwind_error; not set if is_by_kernel */
	__u32 is_by_kernel; /* the kernel walked by frame pointers: there are no tables */
	__u32 generation; /* of the process' tables */
	__u64 hash; /* of the addresses */
	/* The innermost function first. A caller has an address within its call instruction. */
	__u64 addresses[UNWIND_FRAMES_ROOM];

	__u64 pc, sp, fp; /* of the next frame */
	__u64 lr; /* arm64: the return address, if is_exact and the function has not saved it */
	__u32 is_exact; /* pc was interrupted there; otherwise it is a return address */
	__u32 is_sp_low; /* arm64: the caller's sp is above sp, after a walk by the frame pointer */
};

#ifdef __bpf__
#include "thread.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_ROWS_MAX);
	__type(key, __u32);
	__type(value, struct unwind_row);
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RULES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

/* By thread group. Its memory is there from the start: perf events require that before 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_stack);
} unwind_stacks SEC(".maps");

#define UNWIND_PARENTS_MAX 4 /* subshells of a shell have subshells */
#define UNWIND_FRAME_MAX (1u << 20) /* bytes of a frame that is passed by its frame pointer */

/* Registers at the entry into the kernel. x86-64: their order is that of ptrace(2). */
struct unwind_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};

#define UNWIND_WAKEUP_NS 10000000 /* for a process without tables, at most so often */
#define UNWIND_WAKEUP_MAPPING_NS 100000000 /* for one that lacks a mapping */
#define UNWIND_WAKEUP_MIN_NS 1000000 /* for all */

#define UNWIND_USER_CS 0x33 /* segments of 64-bit programs */
#define UNWIND_USER_SS 0x2b
#define UNWIND_STACK_SIZE 16384 /* of a thread in the kernel */

/* The last of the registers of arm64 at the entry into the kernel, in the order of ptrace(2). */
struct unwind_regs_arm64 {
	__u64 fp, lr, sp, pc, pstate;
};

#define UNWIND_ARM64_FP 29 /* the number of the first of them */
#define UNWIND_ARM64_PSTATE_MODE 0x1f /* 0: 64-bit program */
/* Bits of an address of a program. Above them a signed return address has its signature. */
#define UNWIND_ARM64_ADDRESS ((1ull << 48) - 1)
#define UNWIND_ARM64_SIGNAL_REGS 312 /* offset of x0 in a signal frame */
#define UNWIND_ARM64_SIGRETURN 0xd4000001d2801168ull /* mov x8, 139; svc 0 */

static __always_inline __u64 unwind_hash_add(__u64 hash, __u64 address)
{
	hash = (hash ^ address) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static __always_inline void unwind_add(struct unwind_stack *u, __u64 address)
{
	u->addresses[u->n & UNWIND_FRAMES_MAX] = address;
	u->hash = unwind_hash_add(u->hash, address);
	u->n++;
}

/* Ends the walk. */
static __always_inline int unwind_end(struct unwind_stack *u, enum unwind_error error)
{
	u->error = error;
	return 1;
}

/* ---- the tables ---- */

/*
 * Returns the process whose tables hold for the running thread: its own one, or until that has tables
 * the one from which it was forked, if neither has executed another program since. A function of its
 * own has a stack of its own.
 */
__attribute__((noinline)) int unwind_find_process(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, own = tgid;
	const struct task_struct *t;
	__u64 execs;

	if (bpf_map_lookup_elem(&unwind_processes, &tgid))
		return tgid;
	execs = CURRENT(self_exec_id);
	if (CURRENT(parent_exec_id) != execs)
		return own;
	t = CURRENT(real_parent);
	for (int i = 0; i < UNWIND_PARENTS_MAX && BPF_CORE_READ(t, self_exec_id) == execs; i++) {
		tgid = BPF_CORE_READ(t, tgid);
		if (bpf_map_lookup_elem(&unwind_processes, &tgid))
			return tgid;
		if (BPF_CORE_READ(t, parent_exec_id) != execs)
			break;
		t = BPF_CORE_READ(t, real_parent);
	}
	return own;
}

static __always_inline const struct unwind_mapping *unwind_find_mapping(
	const struct unwind_process *p, __u64 pc)
{
	__u32 low = 0, high = p->n, i;

	for (int steps = 0; steps < 8 && low < high; steps++) {
		i = (low + high) / 2;
		if (i >= UNWIND_MAPPINGS_MAX)
			return NULL;
		if (pc < p->mappings[i].start)
			high = i;
		else if (pc >= p->mappings[i].end)
			low = i + 1;
		else
			return &p->mappings[i];
	}
	return NULL;
}
_Static_assert(UNWIND_MAPPINGS_MAX < 1 << 8, "a search of a mapping takes 8 steps");

/* Returns the rule of the last row at or below the address. */
static __always_inline __u32 unwind_find_rule(const struct unwind_mapping *m, __u64 pc)
{
	__u64 address = pc - m->bias;
	__u32 low = m->first_row, high = low + m->n_rows, rule = UNWIND_NO_RULE;

	for (int steps = 0; steps < 22 && low < high; steps++) {
		__u32 i = low + (high - low) / 2;
		const struct unwind_row *row = bpf_map_lookup_elem(&unwind_rows, &i);

		if (!row)
			break;
		if (row->address <= address) {
			rule = row->rule;
			low = i + 1;
		} else {
			high = i;
		}
	}
	return rule;
}
_Static_assert(UNWIND_ROWS_MAX < 1 << 22, "a search of a row takes 22 steps");

/* ---- a frame: each returns 0, or ends the walk ---- */

static __always_inline int unwind_read(struct unwind_stack *u, void *to, __u32 size, __u64 from)
{
	if (bpf_probe_read_user(to, size, (const void *)from) == 0)
		return 0;
	return unwind_end(u, UNWIND_NO_MEMORY);
}

static __always_inline int unwind_by_frame_pointer(struct unwind_stack *u)
{
	__u64 saved[2]; /* fp, return address */

	if (u->fp < u->sp || u->fp - u->sp > UNWIND_FRAME_MAX)
		return unwind_end(u, UNWIND_NO_ROWS);
	if (unwind_read(u, saved, sizeof(saved), u->fp))
		return 1;
	u->sp = u->fp + sizeof(saved);
	u->fp = saved[0];
	u->pc = saved[1];
	u->is_exact = 0;
	if (!(settings.switches & SONDA_ON_X86_64)) {
		u->pc &= UNWIND_ARM64_ADDRESS;
		u->is_sp_low = 1; /* a frame may continue above its record */
	}
	return 0;
}

static __always_inline void unwind_set_regs_arm64(struct unwind_stack *u,
						  const struct unwind_regs_arm64 *regs)
{
	u->pc = regs->pc;
	u->sp = regs->sp;
	u->fp = regs->fp;
	u->lr = regs->lr & UNWIND_ARM64_ADDRESS;
	u->is_exact = 1;
	u->is_sp_low = 0;
}

static __always_inline int unwind_by_signal_frame_arm64(struct unwind_stack *u)
{
	struct unwind_regs_arm64 regs;

	if (unwind_read(u, &regs, sizeof(regs),
			u->sp + UNWIND_ARM64_SIGNAL_REGS + UNWIND_ARM64_FP * sizeof(__u64)))
		return 1;
	unwind_set_regs_arm64(u, &regs);
	return 0;
}

/* Code without rows. On arm64 that to which a signal handler returns is such code, in the vDSO. */
static __always_inline int unwind_without_rule(struct unwind_stack *u)
{
	__u64 code = 0;

	if (!(settings.switches & SONDA_ON_X86_64) && !u->is_exact && !u->is_sp_low &&
	    bpf_probe_read_user(&code, sizeof(code), (const void *)u->pc) == 0 &&
	    code == UNWIND_ARM64_SIGRETURN)
		return unwind_by_signal_frame_arm64(u);
	return unwind_by_frame_pointer(u);
}

/* The kernel saved the registers of the interrupted code behind the ucontext. */
static __always_inline int unwind_by_signal_frame(struct unwind_stack *u)
{
	struct {
		__u64 r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip;
	} regs;

	if (!(settings.switches & SONDA_ON_X86_64))
		return unwind_by_signal_frame_arm64(u);
	if (unwind_read(u, &regs, sizeof(regs), u->sp + 40))
		return 1;
	u->sp = regs.sp; /* the handler may have a stack of its own */
	u->fp = regs.bp;
	u->pc = regs.ip;
	u->is_exact = 1;
	return 0;
}

static __always_inline int unwind_to_cfa(struct unwind_stack *u, const struct unwind_rule *r,
					 __u64 pc, __u64 *ret)
{
	__u64 base = r->base == UNWIND_BASE_FP || r->base == UNWIND_BASE_AT_FP ? u->fp : u->sp;

	if (r->base == UNWIND_BASE_PLT)
		*ret = base + 8 + ((pc & 15) >= (__u32)r->cfa_offset ? 8 : 0);
	else
		*ret = base + r->cfa_offset;
	if (r->base == UNWIND_BASE_AT_SP || r->base == UNWIND_BASE_AT_FP) {
		if (unwind_read(u, ret, sizeof(*ret), *ret))
			return 1;
		*ret += r->cfa_plus;
	}
	/* Without a return address on the stack a function may have no frame. */
	return *ret > u->sp || (r->ra == UNWIND_SAME && *ret == u->sp)
		       ? 0
		       : unwind_end(u, UNWIND_REPEATED);
}

/* Sets u->pc to the return address. */
static __always_inline int unwind_to_caller(struct unwind_stack *u, const struct unwind_rule *r,
					    __u64 cfa)
{
	if (r->ra == UNWIND_SAME) {
		if (!u->is_exact)
			return unwind_end(u, UNWIND_NO_ROWS); /* its callee has changed lr */
		u->pc = u->lr;
		return 0;
	}
	if (unwind_read(u, &u->pc, sizeof(u->pc), cfa + r->ra_offset))
		return 1;
	if (!(settings.switches & SONDA_ON_X86_64))
		u->pc &= UNWIND_ARM64_ADDRESS;
	return 0;
}

static __always_inline int unwind_by_rule(struct unwind_stack *u, __u64 pc, __u32 number)
{
	const struct unwind_rule *r = bpf_map_lookup_elem(&unwind_rules, &number);
	__u64 cfa, fp = 0;

	if (!r)
		return unwind_end(u, UNWIND_NO_ROWS);
	if (u->is_sp_low && r->base != UNWIND_BASE_FP && r->base != UNWIND_BASE_AT_FP)
		return unwind_by_frame_pointer(u);
	if (unwind_to_cfa(u, r, pc, &cfa))
		return 1;
	if (r->fp == UNWIND_SAME)
		fp = u->fp;
	else if (r->fp != UNWIND_UNKNOWN &&
		 unwind_read(u, &fp, sizeof(fp),
			     (r->fp == UNWIND_AT_FP ? u->fp : cfa) + r->fp_offset))
		return 1;
	if (unwind_to_caller(u, r, cfa))
		return 1;
	u->sp = cfa;
	u->fp = fp;
	u->is_exact = u->is_sp_low = 0;
	return 0;
}

/* Adds the frame at u->pc and goes to its caller. Returns 1 at the end of the walk. */
static __always_inline int unwind_frame(struct unwind_stack *u, const struct unwind_process *p)
{
	__u64 pc = u->pc - !u->is_exact;
	const struct unwind_mapping *m = unwind_find_mapping(p, pc);
	__u32 rule;

	if (u->n >= UNWIND_FRAMES_MAX)
		return unwind_end(u, UNWIND_TOO_DEEP);
	if (m || !u->n)
		unwind_add(u, pc);
	if (!m)
		return unwind_end(u, UNWIND_NO_MAPPING);
	rule = unwind_find_rule(m, pc);
	switch (rule) {
	case UNWIND_NO_RULE:
		return unwind_without_rule(u);
	case UNWIND_NO_CALLER:
		return unwind_end(u, UNWIND_NO_ROWS);
	case UNWIND_END:
		return unwind_end(u, UNWIND_COMPLETE);
	case UNWIND_SIGNAL:
		return unwind_by_signal_frame(u);
	default:
		return unwind_by_rule(u, pc, rule);
	}
}

/* ---- all frames ---- */

static __always_inline struct unwind_stack *unwind_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&unwind_stacks, &zero);
}

#ifdef SONDA_NO_LOOP
/* The verifier checks a global function once, and not for each turn of the loop that calls it. */
__attribute__((noinline)) int unwind_next(__u32 tgid)
{
	struct unwind_stack *u = unwind_scratch();
	const struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &tgid);

	return u && p ? unwind_frame(u, p) : 1;
}

static __always_inline void unwind_all(struct unwind_stack *u, const struct unwind_process *p,
				       __u32 tgid)
{
	(void)u;
	(void)p;
	for (int i = 0; i <= UNWIND_FRAMES_MAX; i++)
		if (unwind_next(tgid))
			break;
}
#else
struct unwind_walk {
	struct unwind_stack *u;
	const struct unwind_process *p;
};

static int unwind_next(__u32 i, struct unwind_walk *w)
{
	(void)i;
	return unwind_frame(w->u, w->p);
}

static __always_inline void unwind_all(struct unwind_stack *u, const struct unwind_process *p,
				       __u32 tgid)
{
	struct unwind_walk w = {u, p};

	(void)tgid;
	bpf_loop(UNWIND_FRAMES_MAX + 1, unwind_next, &w, 0);
}
#endif

/* Lets the kernel walk by frame pointers. */
static __always_inline void unwind_by_kernel(void *ctx, struct unwind_stack *u)
{
	long bytes = bpf_get_stack(ctx, u->addresses, UNWIND_FRAMES_MAX * sizeof(*u->addresses),
				   BPF_F_USER_STACK);

	u->is_by_kernel = 1;
	u->hash = 0;
	u->n = bytes > 0 ? bytes / sizeof(*u->addresses) : 0;
	for (__u32 i = 0; i < UNWIND_FRAMES_MAX && i < u->n; i++) {
		if (i)
			u->addresses[i]--;
		u->hash = unwind_hash_add(u->hash, u->addresses[i]);
	}
}

/* Sets the state to the registers of the running thread. Returns 1 if it is a 64-bit program. */
static __always_inline int unwind_begin_arm64(struct unwind_stack *u)
{
	struct unwind_regs_arm64 regs;
	const __u64 *all;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return 0;
	all = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (bpf_probe_read_kernel(&regs, sizeof(regs), all + UNWIND_ARM64_FP) != 0 ||
	    regs.pstate & UNWIND_ARM64_PSTATE_MODE)
		return 0;
	unwind_set_regs_arm64(u, &regs);
	return 1;
}

/*
 * Reads the registers at the end of the stack of the running thread. Before 5.15 there is no helper
 * for that, and the stack has one of two sizes: twice the usual one with CONFIG_KASAN. Returns 1 if
 * they are those of a 64-bit program.
 */
static __always_inline int unwind_read_regs(struct unwind_regs *ret)
{
	const void *stack = CURRENT(stack);

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		const void *regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());

		return bpf_probe_read_kernel(ret, sizeof(*ret), regs) == 0 &&
		       ret->cs == UNWIND_USER_CS;
	}
	for (__u32 size = UNWIND_STACK_SIZE; size <= 2 * UNWIND_STACK_SIZE; size *= 2)
		if (bpf_probe_read_kernel(ret, sizeof(*ret), stack + size - sizeof(*ret)) == 0 &&
		    ret->cs == UNWIND_USER_CS && ret->ss == UNWIND_USER_SS)
			return 1;
	return 0;
}

/* The same as unwind_begin_arm64(). */
static __always_inline int unwind_begin_x86_64(struct unwind_stack *u)
{
	struct unwind_regs regs;

	if (!unwind_read_regs(&regs))
		return 0;
	u->pc = regs.ip;
	u->sp = regs.sp;
	u->fp = regs.bp;
	u->is_exact = 1;
	u->is_sp_low = 0;
	return 1;
}

/* The same for both. A function of its own has a stack of its own. */
__attribute__((noinline)) int unwind_begin(void)
{
	struct unwind_stack *u = unwind_scratch();

	if (!u)
		return 0;
	return settings.switches & SONDA_ON_X86_64 ? unwind_begin_x86_64(u) : unwind_begin_arm64(u);
}

/* Returns 1 if the thread was unwound by the tables of its process. */
static __always_inline int unwind_by_tables(struct unwind_stack *u)
{
	__u32 tgid = unwind_find_process();
	const struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &tgid);

	if (!p || !unwind_begin())
		return 0;
	u->generation = p->generation;
	unwind_all(u, p, tgid);
	p = bpf_map_lookup_elem(&unwind_processes, &tgid);
	/* Otherwise it may have read rows of another file. */
	return p && p->generation == u->generation;
}

/*
 * Unwinds the user stack of the running thread. ctx: of the program, a tracepoint or perf event.
 * Returns the stack in memory of this CPU, which the next call overwrites; or NULL for a thread
 * without a user stack: those of the kernel, also if they have the memory of a process.
 */
static __always_inline struct unwind_stack *unwind_user(void *ctx)
{
	struct unwind_stack *u = unwind_scratch();

	if (!u || CURRENT(flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return NULL;
	u->n = u->error = u->is_by_kernel = 0;
	u->hash = 0;
	if (!unwind_by_tables(u))
		unwind_by_kernel(ctx, u);
	return u;
}

/* Returns for how long the reader is not woken again for such a stack, ns; -1: not for that. */
__attribute__((noinline)) int unwind_wakeup_interval(__u32 is_by_kernel, __u32 error)
{
	const struct task_struct *leader = CURRENT(group_leader);
	__u64 most = is_by_kernel ? UNWIND_WAKEUP_NS : UNWIND_WAKEUP_MAPPING_NS, age;

	if (!is_by_kernel && error != UNWIND_NO_MAPPING)
		return -1;
	age = bpf_ktime_get_boot_ns() - BPF_CORE_READ(leader, start_boottime);
	if (age / 4 > most)
		return most;
	return age / 4 > UNWIND_WAKEUP_MIN_NS ? age / 4 : UNWIND_WAKEUP_MIN_NS;
}

/*
 * Returns 1 if the reader is to be woken for a stack, because the tables lack its process, or
 * mappings of that. *woken is the last such wakeup by this CPU. Many processes do not live for a
 * period of the reader: the younger the process, the sooner it is woken again.
 */
static __always_inline int unwind_is_wakeup_due(__u32 is_by_kernel, __u32 error, __u64 now,
						__u64 *woken)
{
	int interval = unwind_wakeup_interval(is_by_kernel, error);

	if (interval < 0 || now - *woken < (__u64)interval)
		return 0;
	*woken = now;
	return 1;
}
#endif
