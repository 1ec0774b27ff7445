/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user who called sudo, by SUDO_UID and SUDO_GID (sudo(8)). Only root has one: another user
 * could set these variables to anything.
 */

/* Returns true, and sets the ids, if this process runs as root for another user. */
bool sudo_user(uid_t *ret_uid, gid_t *ret_gid);

/* Give a file that this process has created to that user; without one they do nothing. A file that
 * cannot be given stays root's. The second function opens the path, which must not be a link. */
void sudo_user_give(int fd);
void sudo_user_give_path(const char *path);
