/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * What the service gives up for good once its sockets are open:
 *
 *	root		started by root it becomes the user sonda, or nobody where there is no such
 *			user. Where it cannot (a user namespace without users) it says so
 *	capabilities	all, in all sets, and no_new_privs; but for CAP_SYS_NICE where the next
 *			paragraph says so
 *	files		it opens none (Landlock; for writing also the filter of system calls), and
 *			makes and removes none: service/output/file_helper.h does. Where the kernel
 *			has no Landlock it says so
 *	being looked at	no core dumps, no ptrace by its own user: it holds what others recorded
 *	system calls	those that a running service does not make (syscall_filter.h)
 *
 * Before that it raises its own limits of priority, so that priority needs no capability. Where they
 * cannot be raised far enough, CAP_SYS_NICE stays, of a process that has it; the system calls that are
 * left set the priority of the service itself only. A build with a sanitizer, which needs all of that, gives up nothing
 * and says so.
 *
 * 0, also where the kernel has no system call filters, which is logged; else -errno with the
 * reason: the process must not go on.
 */
int sandbox_enter(struct err_text *e);
/* In place of it: only starts the threads of base/system/close_aside.h, which sandbox_enter does too. */
int sandbox_leave_out(struct err_text *e);
