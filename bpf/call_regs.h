/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "thread.h"

/*
 * Registers at a system call, for x86-64 and arm64. With BTF their offsets are known. Without it
 * the offsets are those of ptrace(2), except for the call number on arm64, which comes after them
 * since Linux 4.14.
 */

#ifdef SONDA_NO_BTF
struct regs_of_x86_64 {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs;
};

struct regs_of_arm64 {
	__u64 regs[31], sp, pc, pstate, orig_x0;
	__s32 syscallno;
};

#define USER32_CS 0x23
#define PSR_MODE32 0x10

#define CALL_REG(regs, arch, field)                                                                \
	({                                                                                         \
		struct regs_of_##arch *r_ = (void *)(regs);                                        \
		typeof(r_->field) v_ = 0;                                                          \
		bpf_probe_read_kernel(&v_, sizeof(v_), &r_->field);                                \
		v_;                                                                                \
	})

/* Returns true for a system call of a 32-bit program: by its code segment (x86) or mode (arm64). */
static __always_inline int call_is_compat(void *regs)
{
	if (settings.switches & SONDA_ON_X86_64)
		return CALL_REG(regs, x86_64, cs) == USER32_CS;
	return (CALL_REG(regs, arm64, pstate) & PSR_MODE32) != 0;
}
#else
#define CALL_REG(regs, arch, field) (((struct pt_regs___##arch *)(regs))->field)

static __always_inline int call_is_compat(void *regs)
{
	if (settings.switches & SONDA_ON_X86_64)
		return (CURRENT(thread_info.status) & TS_COMPAT) != 0;
	return CURRENT(thread_info.flags) >> TIF_32BIT & 1;
}
#endif
