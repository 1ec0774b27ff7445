/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A seccomp filter for the whole life of the process: it may make the system calls of a running
 * service, and no others. No new process or program, no new socket, no executable memory.
 *
 * Any other call fails with EPERM and is told on stderr, once for each number
 * (`scmp_sys_resolver NUMBER` says its name): the service goes on, so that a libc which does
 * something in a new way costs nobody a trace. On processors whose registers we do not know the
 * kernel's log tells it instead.
 *
 * Sets SIGSYS's handler and no_new_privs. 0; -ENOSYS when the kernel has no such filters; or
 * -errno.
 */
int syscall_filter_install(void);
