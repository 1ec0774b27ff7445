/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Restricts where the calling thread, and the threads and processes that it starts later, may open
 * and change files (landlock(7)). Descriptors that are open already or passed by other processes
 * are not affected.
 *
 * A restricted process has no ptrace(2) access to other processes, which some files of /proc
 * require: see base/system/outside_reads.h.
 */
struct landlock_path {
	/* A file, or a directory with everything below it; skipped if missing or inaccessible. */
	const char *path;
	bool makes_files; /* files and directories may also be created and removed there */
};

/* Returns true if the kernel supports Landlock and it is enabled. */
bool landlock_is_there(void);

/* Permanently forbids writing, truncating, creating, removing or renaming files outside the paths.
 * Everywhere, it forbids executing files, moving them to another directory, and creating anything
 * but regular files and directories. Before Linux 6.2 truncate(2) is not restricted. Sets
 * no_new_privs. Returns 0; -ENOSYS if Landlock is unsupported or disabled; or -errno. */
int landlock_restrict_writes(const struct landlock_path *paths, size_t n);

/* Like landlock_restrict_writes(), and also forbids reading files and directories outside the
 * paths. */
int landlock_restrict_files(const struct landlock_path *paths, size_t n);
