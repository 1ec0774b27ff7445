/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user who called sudo, by SUDO_UID and SUDO_GID (sudo(8)). Only a process of root believes
 * these variables: another user could set them to anything.
 */

/* Returns true, and sets the ids, if this process runs as root and both variables are ids. */
bool sudo_user(uid_t *ret_uid, gid_t *ret_gid);

/* Give a file or folder that this process has created to the user who called sudo, if there is one.
 * What cannot be given stays root's: so does a file with several hard links, and, in the second
 * function, a path that is a symbolic link. */
void sudo_user_give(int fd);
void sudo_user_give_path(const char *path);
