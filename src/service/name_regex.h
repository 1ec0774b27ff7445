/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * Regular expressions for names, POSIX extended, that come from a peer: only those are used whose
 * compiling and matching is bounded (MAX_REGEX_* of service/limits.h).
 */

/* 0, or -EINVAL: one that cannot be used; e quotes it and says why. */
int name_regex_check(const char *pattern, struct err_text *e);

/* Is the whole name an instance of the expression? False for one that cannot be compiled. Only for
 * what name_regex_check accepted. */
bool name_regex_matches(const char *pattern, const char *name);
