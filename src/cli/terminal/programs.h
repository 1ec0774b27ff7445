/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/* The file of this process, also if it is a multi-call program under another name. */
#define OURSELVES "/proc/self/exe"

/* Finds a program as a shell does, but skips empty elements of PATH: name itself if it contains a
 * '/', else in PATH. Writes its path to buf. Returns 0 or -ENOENT. */
int program_find(const char *name, char *buf, size_t size);

/* Finds a daemon of this project: the running program if it is a multi-call program with this
 * daemon, else beside it, else in PATH. Writes the path to buf. Returns 0, or -ENOENT and sets e
 * (may be NULL). */
int program_find_daemon(const char *name, char *buf, size_t size, struct err_text *e);

/* Finds share/sonda/NAME in the parent of the running program's directory (for PREFIX/bin), else in
 * the parent of that (for build/bin). Writes the absolute path. Returns 0 or -ENOENT. */
int program_find_shared(const char *name, char path[PATH_MAX]);

/* Returns the capabilities that the file at path gives to a program (setcap(8)), as a mask: all if
 * it is set-user-id root, 0 if it gives none. */
uint64_t program_capabilities(const char *path);
