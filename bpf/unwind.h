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
 * walk goes from caller to caller by the tables of unwind_tables.h. Which file an address belongs
 * to is looked up in the mappings of the process, without a lock: in its maple tree, before Linux
 * 6.1 in its red-black tree. Another thread may change the mappings meanwhile: a mapping that was
 * found is checked, and one may be missed. Code without rows (compiled at run time, hand-written)
 * is unwound by frame pointers, if the frame passes the checks below. The stacks of 32-bit
 * programs, and of all programs on arm64 before Linux 5.15, are unwound by the kernel itself, by
 * frame pointers.
 *
 * An address that is in no executable mapping is never reported, except the first one. Everything
 * that is read from the process is checked: a forged stack can only be wrong or short.
 *
 * An object is compiled with bpf_loop(), which Linux 5.17 has, or with SONDA_NO_LOOP defined.
 */

/* Values of Profiling.StackUnwindError, but for the last one. */
enum unwind_error {
	UNWIND_COMPLETE, /* the outermost function was reached */
	UNWIND_NO_MEMORY = 2, /* a page of the stack is not in memory */
	UNWIND_NO_ROWS = 3, /* code without rows and without a valid frame pointer */
	UNWIND_NO_MAPPING = 5, /* the address of a caller is in no executable mapping */
	UNWIND_TOO_DEEP = 6, /* more than UNWIND_FRAMES_MAX frames */
	UNWIND_REPEATED = 7, /* the frame of a caller is not above that of its callee */
	UNWIND_NO_FILE =
		128, /* as NO_ROWS, because the tables lack a file: callers may be left out */
};

/* A mapping that the walk has met. */
struct unwind_range {
	__u64 start, end; /* both 0: none */
	__u64 bias; /* a row's address is pc - bias */
	__u32 first_row, n_rows;
	__u32 lacks_rows; /* the file is not in the tables */
};
#define UNWIND_RANGES 4 /* kept at once */
#define UNWIND_WORDS 32

/* An array of this size allows an index that is masked with UNWIND_FRAMES_MAX. */
#define UNWIND_FRAMES_ROOM (UNWIND_FRAMES_MAX + 1)

/* The result, and the state of the walk. */
struct unwind_stack {
	__u32 n; /* addresses */
	__u32 error; /* enum unwind_error; not set if is_by_kernel */
	__u32 is_by_kernel; /* the kernel walked by frame pointers */
	__u32 lacks_rows; /* a frame is of a file that is not in the tables */
	__u64 hash; /* of the addresses */
	/* The innermost function first. A caller has an address within its call instruction. */
	__u64 addresses[UNWIND_FRAMES_ROOM];

	__u64 pc, sp, fp; /* of the next frame */
	__u64 lr; /* arm64: the return address, if is_exact and the function has not saved it */
	__u32 is_exact; /* pc was interrupted there; otherwise it is a return address */
	__u32 is_sp_low; /* arm64: the caller's sp is above sp, after a walk by the frame pointer */
	__u32 executes; /* the thread is in execve(): the registers may be stale */
	__u32 page_shift;
	__u32 next_range; /* the entry that is replaced next */
	__u64 now; /* CLOCK_MONOTONIC, ns */
	struct unwind_range ranges[UNWIND_RANGES];
	__u64 words
		[UNWIND_WORDS]; /* a node of a maple tree, or registers: too large for the stack */
	struct unwind_file_key key; /* of a mapping */
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

/* Preallocated: programs of perf events require that before 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_FILES_MAX);
	__type(key, struct unwind_file_key);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_state);
} unwind_state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_stack);
} unwind_stacks SEC(".maps");

#define UNWIND_MAPLE_DEPTH 6 /* levels of a tree with at least 5 children per node */
#define UNWIND_TREE_DEPTH 40 /* levels of a binary tree */
#define UNWIND_FRAME_MAX (1u << 20) /* bytes of a frame that is unwound by its frame pointer */

/* Registers at the entry into the kernel. x86-64: their order is that of ptrace(2). */
struct unwind_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};

#define UNWIND_WAKEUP_NS 100000000 /* shortest interval, for files that the tables lack */
#define UNWIND_WAKEUP_MIN_NS 1000000 /* shortest one for a process that has just begun */

#define UNWIND_EXECVE 59 /* system calls of x86-64 */
#define UNWIND_EXECVEAT 322

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

/* ---- the mappings of the running process ---- */

static __always_inline struct unwind_stack *unwind_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&unwind_stacks, &zero);
}

/* Searches the node in u->words. Returns the slot that contains the address. */
static __always_inline __u64 unwind_find_slot(const struct unwind_stack *u, int is_arange, __u64 pc)
{
	__u32 pivots = is_arange ? bpf_core_field_offset(struct maple_arange_64, pivot)
				 : bpf_core_field_offset(struct maple_range_64, pivot);
	__u32 slots = is_arange ? bpf_core_field_offset(struct maple_arange_64, slot)
				: bpf_core_field_offset(struct maple_range_64, slot);
	__u32 n = (slots - pivots) / sizeof(*u->words), i;

	pivots /= sizeof(*u->words);
	slots /= sizeof(*u->words);
	for (i = 0; i < UNWIND_WORDS / 2 && i < n; i++) {
		__u64 pivot = u->words[(pivots + i) % UNWIND_WORDS];

		if (pivot >= pc || (i && !pivot))
			break;
	}
	return u->words[(slots + i) % UNWIND_WORDS];
}

static __always_inline const struct vm_area_struct *unwind_find_in_maple(struct unwind_stack *u,
									 __u64 pc)
{
	const struct mm_struct *mm = CURRENT(mm);
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	if ((entry & 3) != 2) /* no node, but one mapping or none */
		return NULL;
	for (int level = 0; level < UNWIND_MAPLE_DEPTH; level++) {
		__u32 type = entry >> 3 & 15;

		if (type > MAPLE_ARANGE_64 ||
		    bpf_probe_read_kernel(u->words, sizeof(u->words),
					  (void *)(entry & ~(__u64)(MAPLE_NODE_SIZE - 1))) != 0)
			return NULL;
		entry = unwind_find_slot(u, type == MAPLE_ARANGE_64, pc);
		if (type < MAPLE_RANGE_64)
			return (const void *)entry;
	}
	return NULL;
}

static __always_inline const struct vm_area_struct *unwind_find_in_tree(__u64 pc)
{
	const struct mm_struct___before_6_1 *mm = (const void *)CURRENT(mm);
	const struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);

	for (int level = 0; level < UNWIND_TREE_DEPTH && node; level++) {
		const struct vm_area_struct *vma =
			(const void *)node -
			bpf_core_field_offset(struct vm_area_struct___before_6_1, vm_rb);

		if (BPF_CORE_READ(vma, vm_end) <= pc)
			node = BPF_CORE_READ(node, rb_right);
		else if (BPF_CORE_READ(vma, vm_start) > pc)
			node = BPF_CORE_READ(node, rb_left);
		else
			return vma;
	}
	return NULL;
}

static __always_inline void unwind_read_key(const struct inode *inode, struct unwind_file_key *ret)
{
	const struct inode___before_6_11 *second = (const void *)inode;
	const struct inode___before_6_6 *first = (const void *)inode;

	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->device = BPF_CORE_READ(inode, i_sb, s_dev);
	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		ret->changed_s = BPF_CORE_READ(inode, i_ctime_sec);
		ret->changed_ns = BPF_CORE_READ(inode, i_ctime_nsec) & INODE_NSEC;
	} else if (bpf_core_field_exists(second->__i_ctime)) {
		ret->changed_s = BPF_CORE_READ(second, __i_ctime.tv_sec);
		ret->changed_ns = BPF_CORE_READ(second, __i_ctime.tv_nsec);
	} else {
		ret->changed_s = BPF_CORE_READ(first, i_ctime.tv_sec);
		ret->changed_ns = BPF_CORE_READ(first, i_ctime.tv_nsec);
	}
}

static __always_inline int unwind_is_vdso(const struct unwind_range *r)
{
	const struct mm_struct___vdso *mm = (const void *)CURRENT(mm);

	return bpf_core_field_exists(mm->context.vdso) &&
	       (__u64)BPF_CORE_READ(mm, context.vdso) == r->start;
}

/* Returns the file of a mapping, or NULL; file NULL: the vDSO. For overlayfs the tables have the
 * file that records and /proc/PID/maps show: the one below or, on newer kernels, the one that was
 * opened, which has the same size and change time. Other kinds of files have something else in that
 * place. */
static __always_inline struct unwind_file *unwind_find_file(struct unwind_stack *u,
							    const struct file *file)
{
	const struct backing_file *backing = (const void *)file;
	const struct inode *inode;
	struct unwind_file *f;

	__builtin_memset(&u->key, 0, sizeof(u->key));
	if (file)
		unwind_read_key(BPF_CORE_READ(file, f_inode), &u->key);
	f = bpf_map_lookup_elem(&unwind_files, &u->key);
	if (f || !file || !bpf_core_field_exists(backing->user_path))
		return f;
	inode = BPF_CORE_READ(backing, user_path.dentry, d_inode);
	u->key.inode = BPF_CORE_READ(inode, i_ino);
	u->key.device = BPF_CORE_READ(inode, i_sb, s_dev);
	return bpf_map_lookup_elem(&unwind_files, &u->key);
}

/* Sets the rows of a mapping, which begins at `offset` in its file; file NULL: the vDSO. */
static __always_inline void unwind_set_rows(struct unwind_stack *u, struct unwind_range *r,
					    const struct file *file, __u64 offset)
{
	struct unwind_file *f = unwind_find_file(u, file);

	if (!f) {
		r->lacks_rows = 1;
		return;
	}
	if (u->now - f->used_ns > UNWIND_USED_NS)
		f->used_ns = u->now;
	for (int i = 0; i < UNWIND_SEGMENTS_MAX; i++)
		if (offset >= f->segments[i].offset && offset < f->segments[i].end) {
			r->bias = r->start - offset - f->segments[i].bias;
			r->first_row = f->first_row;
			r->n_rows = f->n_rows;
			break;
		}
}

/* Adds the executable mapping that contains the address. Returns its index in u->ranges; -1: there
 * is none. A function of its own has a stack of its own. */
__attribute__((noinline)) int unwind_add_range(__u64 pc)
{
	struct unwind_stack *u = unwind_scratch();
	const struct vm_area_struct *vma;
	struct unwind_range *r;
	const struct file *file;
	__u32 i;

	if (!u)
		return -1;
	vma = bpf_core_field_exists(struct mm_struct, mm_mt) ? unwind_find_in_maple(u, pc)
							     : unwind_find_in_tree(pc);
	if (!vma || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return -1;
	i = u->next_range++ % UNWIND_RANGES;
	r = &u->ranges[i];
	r->start = BPF_CORE_READ(vma, vm_start);
	r->end = BPF_CORE_READ(vma, vm_end);
	r->n_rows = r->lacks_rows = 0;
	if (pc < r->start || pc >= r->end) {
		r->start = r->end = 0;
		return -1;
	}
	file = BPF_CORE_READ(vma, vm_file);
	if (file || unwind_is_vdso(r))
		unwind_set_rows(u, r, file,
				file ? BPF_CORE_READ(vma, vm_pgoff) << u->page_shift : 0);
	return i;
}

/* Returns the executable mapping that contains the address, or NULL. */
static __always_inline const struct unwind_range *unwind_find_range(struct unwind_stack *u,
								    __u64 pc)
{
	int added;

	for (int i = 0; i < UNWIND_RANGES; i++)
		if (pc >= u->ranges[i].start && pc < u->ranges[i].end)
			return &u->ranges[i];
	added = unwind_add_range(pc);
	return added < 0 ? NULL : &u->ranges[added % UNWIND_RANGES];
}

/* ---- the tables ---- */

/* Returns the rule of the last row at or below the address. *ret_further: by so many bytes the CFA
 * is further than the rule says. */
static __always_inline __u32 unwind_find_rule(const struct unwind_range *m, __u64 pc,
					      __s64 *ret_further)
{
	union {
		__u64 bits;
		struct unwind_row row;
	} found = {.bits = 0};
	__u64 address = pc - m->bias;
	__u32 low = m->first_row, high = low + m->n_rows;

	for (int steps = 0; steps < 22 && low < high; steps++) {
		__u32 i = low + (high - low) / 2;
		const struct unwind_row *row = bpf_map_lookup_elem(&unwind_rows, &i);

		if (!row)
			break;
		if (row->address <= address) {
			found.bits = *(const __u64 *)row;
			low = i + 1;
		} else {
			high = i;
		}
	}
	*ret_further = found.row.next && address - found.row.address >= found.row.next
			       ? 8 * found.row.step
			       : 0;
	return found.row.rule;
}
_Static_assert(UNWIND_NO_RULE == 0, "no row has no rule");
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

/* Unwinds code without rows. On arm64 this includes the code in the vDSO to which a signal handler
 * returns. */
static __always_inline int unwind_without_rule(struct unwind_stack *u)
{
	__u64 code = 0;

	if (!(settings.switches & SONDA_ON_X86_64) && !u->is_exact && !u->is_sp_low &&
	    bpf_probe_read_user(&code, sizeof(code), (const void *)u->pc) == 0 &&
	    code == UNWIND_ARM64_SIGRETURN)
		return unwind_by_signal_frame_arm64(u);
	return unwind_by_frame_pointer(u);
}

/* Unwinds by a signal frame. The kernel saved the registers of the interrupted code after the
 * ucontext. */
static __always_inline int unwind_by_signal_frame(struct unwind_stack *u)
{
	enum { BP = 10, SP = 15, IP, N }; /* after r8 to r15, di and si; bx, dx, ax and cx */

	if (!(settings.switches & SONDA_ON_X86_64))
		return unwind_by_signal_frame_arm64(u);
	if (unwind_read(u, u->words, N * sizeof(*u->words), u->sp + 40))
		return 1;
	u->sp = u->words[SP]; /* the handler may have a stack of its own */
	u->fp = u->words[BP];
	u->pc = u->words[IP];
	u->is_exact = 1;
	return 0;
}

static __always_inline int unwind_to_cfa(struct unwind_stack *u, const struct unwind_rule *r,
					 __u64 pc, __s64 further, __u64 *ret)
{
	__u64 base = r->base == UNWIND_BASE_FP || r->base == UNWIND_BASE_AT_FP ? u->fp : u->sp;

	if (r->base == UNWIND_BASE_PLT)
		*ret = base + 8 + ((pc & 15) >= (__u32)r->cfa_offset ? 8 : 0);
	else
		*ret = base + r->cfa_offset + further;
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

static __always_inline int unwind_by_rule(struct unwind_stack *u, __u64 pc, __u32 number,
					  __s64 further)
{
	const struct unwind_rule *r = bpf_map_lookup_elem(&unwind_rules, &number);
	__u64 cfa, fp = 0;

	if (!r)
		return unwind_end(u, UNWIND_NO_ROWS);
	if (u->is_sp_low && r->base != UNWIND_BASE_FP && r->base != UNWIND_BASE_AT_FP)
		return unwind_by_frame_pointer(u);
	if (unwind_to_cfa(u, r, pc, further, &cfa))
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
static __always_inline int unwind_frame(struct unwind_stack *u)
{
	__u64 pc = u->pc - !u->is_exact;
	const struct unwind_range *m = unwind_find_range(u, pc);
	__s64 further;
	__u32 rule;

	if (u->n >= UNWIND_FRAMES_MAX)
		return unwind_end(u, UNWIND_TOO_DEEP);
	if (m || !u->n)
		unwind_add(u, pc);
	if (!m)
		return unwind_end(u, UNWIND_NO_MAPPING);
	u->lacks_rows |= m->lacks_rows;
	rule = unwind_find_rule(m, pc, &further);
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
		return unwind_by_rule(u, pc, rule, further);
	}
}

/* ---- all frames ---- */

#ifdef SONDA_NO_LOOP
/* Unwinds a frame and goes to its caller. Returns 1 at the end of the walk. The verifier checks a
 * global function once, and not for each turn of the loop that calls it. */
__attribute__((noinline)) int unwind_next(void)
{
	struct unwind_stack *u = unwind_scratch();

	return u ? unwind_frame(u) : 1;
}

static __always_inline void unwind_all_frames(struct unwind_stack *u)
{
	(void)u;
	for (int i = 0; i <= UNWIND_FRAMES_MAX; i++)
		if (unwind_next())
			break;
}
#else
struct unwind_walk {
	struct unwind_stack *u;
};

static int unwind_next(__u32 i, struct unwind_walk *w)
{
	(void)i;
	return unwind_frame(w->u);
}

static __always_inline void unwind_all_frames(struct unwind_stack *u)
{
	struct unwind_walk w = {u};

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

/* Reads the registers at the end of the stack of the running thread. Before 5.15 there is no helper
 * for that, and the stack has one of two sizes: twice the usual one with CONFIG_KASAN. Returns 1 if
 * they are those of a 64-bit program. */
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

/* Like unwind_begin_arm64(). */
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
	u->executes = regs.orig_ax == UNWIND_EXECVE || regs.orig_ax == UNWIND_EXECVEAT;
	return 1;
}

/* Calls the function of the machine's architecture. It is not inlined, because a function of its
 * own has a stack of its own. */
__attribute__((noinline)) int unwind_begin(void)
{
	struct unwind_stack *u = unwind_scratch();

	if (!u)
		return 0;
	return settings.switches & SONDA_ON_X86_64 ? unwind_begin_x86_64(u) : unwind_begin_arm64(u);
}

/* Unwinds the thread by the tables. Returns 0 if it cannot be unwound by them (a 32-bit program, no
 * tables), or if their space was used again meanwhile. */
static __always_inline int unwind_by_tables(struct unwind_stack *u)
{
	__u32 zero = 0, changes;
	const volatile struct unwind_state *state = bpf_map_lookup_elem(&unwind_state, &zero);

	if (!state || !state->page_shift || !unwind_begin())
		return 0;
	changes = state->changes;
	u->page_shift = state->page_shift;
	u->now = bpf_ktime_get_ns();
	for (int i = 0; i < UNWIND_RANGES; i++)
		u->ranges[i].start = u->ranges[i].end = 0;
	unwind_all_frames(u);
	if (u->lacks_rows)
		u->error = UNWIND_NO_FILE;
	return state->changes == changes; /* else it may have read rows of another file */
}

/* Unwinds the user stack of the running thread. ctx: of the program, a tracepoint or perf event.
 * Returns the stack, in memory of this CPU that the next call overwrites. Returns NULL for a thread
 * without a user stack: a kernel thread, even if it uses the memory of a process, or a thread that
 * has released its memory because it exits or executes another program. */
static __always_inline struct unwind_stack *unwind_user(void *ctx)
{
	struct unwind_stack *u = unwind_scratch();

	if (!u || CURRENT(flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) || !CURRENT(mm))
		return NULL;
	u->n = u->error = u->is_by_kernel = u->lacks_rows = u->executes = 0;
	u->hash = 0;
	if (!unwind_by_tables(u))
		unwind_by_kernel(ctx, u);
	else if (u->executes && u->n <= 1 &&
		 (u->error == UNWIND_NO_MAPPING || u->error == UNWIND_NO_MEMORY))
		return NULL;
	return u;
}

/* Returns 1, and sets *woken to now, if the reader is to be woken for a stack because the tables
 * lack a file. *woken is the last such wakeup by this CPU. Many processes live for less than a
 * period of the reader: the younger the process, the sooner it is woken again. */
static __always_inline int unwind_request_wakeup(__u32 error, __u64 now, __u64 *woken)
{
	const struct task_struct *leader = CURRENT(group_leader);
	__u64 age, interval;

	if (error != UNWIND_NO_FILE)
		return 0;
	age = bpf_ktime_get_boot_ns() - BPF_CORE_READ(leader, start_boottime);
	interval = age / 4 > UNWIND_WAKEUP_NS	    ? UNWIND_WAKEUP_NS
		   : age / 4 > UNWIND_WAKEUP_MIN_NS ? age / 4
						    : UNWIND_WAKEUP_MIN_NS;
	if (now - *woken < interval)
		return 0;
	*woken = now;
	return 1;
}
#endif
