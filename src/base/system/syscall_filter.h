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

/* Allowed where the bits of `mask` in argument `arg` are all 0. */
struct syscall_without {
	const char *name;
	unsigned arg;
	uint64_t mask;
};

/* System calls of one program beyond the common ones. */
struct syscall_list {
	const char *const *allowed; /* the last one is NULL */
	const struct syscall_without *without; /* the last one has no name; may be NULL */
	bool loads_libraries; /* it may map files to execute, but for writing, too */
	bool opens_to_read_only; /* it may open no file for writing, and make none */
	bool has_threads; /* it may start threads, though no processes */
	bool is_whole; /* it may make no other calls, not even those that each program makes */
};

/* Sets the handler of SIGSYS and no_new_privs. Returns 0; -ENOSYS if the kernel lacks such filters;
 * or -errno. */
int syscall_filter_install(const struct syscall_list *list);
