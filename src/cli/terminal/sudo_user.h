/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user who called sudo, by SUDO_UID and SUDO_GID (sudo(8)). These variables are trusted only if
 * the process runs as root: other users could set them to anything.
 */

/* Returns true, and sets the ids, if this process runs as root and both variables are ids. */
bool sudo_user_get(uid_t *ret_uid, gid_t *ret_gid);

/* Gives a file or directory that this process has created to the user who called sudo, if there is
 * one. A file that cannot be given, and one with several hard links, stays root's. */
void sudo_user_chown(int fd);
