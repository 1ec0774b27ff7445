/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/stat.h>

#include "base/core/err.h"

/* Symbolic links in the path of an output file, followed one by one so that each can be checked. */

/*
 * Follows symbolic links from the last component of *path until a file that is not a link, or a
 * link in /proc whose target has no path (a pipe). *path (owned, malloc) becomes the path of that
 * file. Refuses links, pipes and devices of other users in world-writable directories (-EACCES).
 *
 * Returns 0 or -errno; e is set for -EACCES and if the directory cannot be read. If the file
 * exists, *ret_fd is an O_PATH descriptor of it, which the caller closes, and *ret_st its status.
 * Otherwise *ret_fd is unchanged.
 */
int safe_path_follow(char **path, int *ret_fd, struct stat *ret_st, struct err_text *e);

/* Opens what safe_path_follow() has found and checked, for writing. Returns a descriptor or
 * -errno. */
int safe_path_open(int fd, const char *path, const struct stat *st);

/* Opens the directory of path with open(2) flags (close-on-exec, mode 0600 for O_TMPFILE). Returns
 * the descriptor, or -1 with errno. */
int safe_path_open_dir(const char *path, int flags);
