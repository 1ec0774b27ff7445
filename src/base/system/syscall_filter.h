/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A seccomp filter for the rest of the life of the process: it may make the system calls that each
 * of our programs makes, those of its own list, and no others. No new process or program, no
 * executable memory, no priority of another process.
 *
 * Any other call fails with EPERM and is logged, once for each number (`scmp_sys_resolver NUMBER`
 * says its name): the program continues, so that a libc which does something in a new way costs nobody
 * a trace. On processors whose registers we do not know the kernel's log has it instead.
 */

/* Allowed where the bits of `mask` in argument `arg` are all 0. */
struct syscall_without {
	const char *name;
	unsigned arg;
	uint64_t mask;
};

/* What one program does beyond the others. */
struct syscall_list {
	const char *const *allowed; /* the last one is NULL */
	const struct syscall_without *without; /* the last one has no name; may be NULL */
	bool loads_libraries; /* it may map files to execute, but for writing, too */
	bool opens_to_read_only; /* it may open no file for writing, and make none */
	bool has_threads; /* it may start threads, though no processes */
	bool is_whole; /* it may make no other calls, not even those that each program makes */
};

/* Sets SIGSYS's handler and no_new_privs. 0; -ENOSYS when the kernel has no such filters; or
 * -errno. */
int syscall_filter_install(const struct syscall_list *list);
