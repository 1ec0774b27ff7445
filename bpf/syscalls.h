/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "process.h"

/* The family "syscalls": what syscalls.bpf.c counts and src/ebpf/families/syscalls.c reads. */

/* Bits of sonda_settings.switches. The first two: how calls of the 32-bit table are detected. */
#define SYSCALLS_COMPAT_IN_STATUS 1u /* x86 */
#define SYSCALLS_COMPAT_IN_FLAGS 2u /* arm64 */
#define SYSCALLS_NO_NAMES 4u /* counts all calls of a process together, with "what" 0 */

/* The part "what" of the key is the number of the call; for 32-bit programs with this bit: */
#define SYSCALLS_COMPAT (1u << 31)
#define SYSCALLS_NONE (SYSCALLS_COMPAT - 1) /* a number below 0 */

/* Values of a process and a call, on one CPU. */
struct syscalls {
	__u64 count;
	__u64 ns;
	__u64 errors;
};
