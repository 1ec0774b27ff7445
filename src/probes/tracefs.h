/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/* Where this machine's tracefs is, and whether we may make instances in it. */

/* The usual places, best first; NULL-terminated. */
extern const char *const tracefs_places[];

/*
 * The first of the places that can be used: 0 with it (borrowed from places). Else, with a sentence
 * for the first place in e: -EACCES (it is not ours to use), -ENOENT (nothing is mounted there), or
 * -EOPNOTSUPP (the kernel has no such place).
 */
int tracefs_find(const char *const *places, struct err_text *e, const char **ret_place);

/*
 * Mounts tracefs on a place below /sys that exists and is empty, in a mount namespace of the caller
 * alone: nobody else sees the mount, and the kernel undoes it when the process ends, however it ends.
 * Call it before a second thread exists. 0, -EEXIST (not empty), or -errno.
 */
int tracefs_mount_private(const char *place);
