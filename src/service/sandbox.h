/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * Drops all privileges of the service, permanently. Call it after the sockets were opened.
 *
 *	user		root changes to the user sonda, or to nobody if sonda does not exist. If the
 *			user namespace has no other users, this is logged
 *	capabilities	all are dropped from all sets, and no_new_privs is set; except CAP_SYS_NICE,
 *			see below
 *	files		cannot be opened (Landlock; for writing also seccomp), created or removed:
 *			service/output/file_helper.h does that. A kernel without Landlock is logged
 *	inspection	no core dumps, and no ptrace by the same user: the memory has data of others
 *	system calls	only those that a running service makes (base/system/syscall_filter.h)
 *
 * First the process raises its own limits of priority, so that priority_boost needs no capability.
 * If the limits cannot be raised far enough, a process that has CAP_SYS_NICE keeps it; the allowed
 * system calls can set its own priority only. A build with a sanitizer keeps all privileges and
 * logs that.
 *
 * Returns 0, even if the kernel has no seccomp, which is logged. Otherwise returns -errno and sets
 * e; the process must then end.
 */
int sandbox_enter(struct err_text *e);
/* For --no-sandbox: only starts the threads of base/system/background_close.h, as sandbox_enter()
 * does. Returns 0, or -errno and sets e. */
int sandbox_skip(struct err_text *e);
