/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/* Finds the tracefs of this machine in which instances can be created. */

/* The usual mount points, best first; NULL-terminated. */
extern const char *const tracefs_dirs[];

/* Finds the first usable mount point; *ret_dir is borrowed from dirs. Returns 0, or an error
 * for the first dir and sets e: -EACCES (no permission), -ENOENT (nothing is mounted there),
 * -EOPNOTSUPP (the kernel has no such directory). */
int tracefs_find(const char *const *dirs, struct err_text *e, const char **ret_dir);

/* Mounts tracefs on an existing, empty directory below /sys, in a mount namespace of this process.
 * No other process sees the mount, and the kernel removes it when the process ends. Call it before
 * a second thread exists. Returns 0, -EEXIST (not empty), or -errno. */
int tracefs_mount_private(const char *dir);
