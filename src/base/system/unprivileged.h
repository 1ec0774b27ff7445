/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/core/err.h"
#include "base/system/landlock.h"

/*
 * Drops the privileges of a daemon that needs none, permanently. Call it after the sockets were
 * opened, while the process has one thread.
 *
 *	user		root changes to the user sonda, or to nobody if sonda does not exist. If the
 *			user namespace has no other users, this is logged
 *	capabilities	all but those of `keep` are dropped from all sets, and no_new_privs is set
 *	files		only those of `paths` can be opened (Landlock), only for reading (seccomp), and
 *			none can be created or removed. A kernel without Landlock is logged
 *	inspection	no core dumps, and no ptrace by the same user: the memory has data of others
 *	system calls	those of base/system/syscall_filter.h and of `calls`, and those that start
 *			threads
 *
 * Returns 0, even if the kernel has no seccomp, which is logged. Otherwise returns -errno and sets
 * e; the process must then end.
 */
struct unprivileged {
	const unsigned *keep; /* capabilities: CAP_* */
	size_t n_keep;
	const struct landlock_path *paths;
	size_t n_paths;
	const char *const *calls; /* the last one is NULL */
};

int unprivileged_enter(const struct unprivileged *u, struct err_text *e);
