/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A permanent seccomp filter. It allows the system calls that all our programs need and those of
 * the program's own list. It allows no new process or program, no executable memory and no change
 * of another process' priority.
 *
 * Any other call fails with EPERM and is logged once for each number (`scmp_sys_resolver NUMBER`
 * prints its name). The program continues, so that a newer libc does not break a recording. On
 * architectures whose registers are unknown here, the kernel logs the call instead.
 */

/* The call is allowed if the bits of `mask` in its argument `arg` (the first is 0) are all 0. */
struct syscall_without {
	const char *name;
	unsigned arg;
	uint64_t mask;
};

/* System calls of one program beyond the common ones. */
struct syscall_list {
	const char *const *allowed; /* the last one is NULL */
	const struct syscall_without *without; /* the last one has no name; may be NULL */
	bool loads_libraries; /* may map files with PROT_EXEC, but not with PROT_WRITE as well */
	bool opens_to_read_only; /* the process must not open files for writing or create them */
	bool has_threads; /* the process may start threads, but no processes */
	bool is_whole; /* the common calls are not allowed, only those listed here */
};

/* Applies the filter to all threads; with has_threads, to the calling thread and those that it
 * starts later. Sets the handler of SIGSYS and no_new_privs. Returns 0; -ENOSYS if the kernel lacks
 * such filters; or -errno. */
int syscall_filter_install(const struct syscall_list *list);
