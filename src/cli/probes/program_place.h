/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

#include "base/core/err.h"

/* Finds the file of a program or library: a path, a program in PATH, or a library by its name in
 * the directories of the dynamic linker ("libc.so.6", or "libc" if one file begins with "libc.so").
 * Writes its absolute path without symbolic links. Returns 0; -ENOENT if there is none; -EINVAL if
 * a probe cannot name this path; or another -errno; and sets e. */
int program_place_find(const char *name, char path[static PATH_MAX], struct err_text *e);
