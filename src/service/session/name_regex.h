/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

/* Regular expressions for names that come from a peer, as base/text/regex.h has them. */

/* 0; -EINVAL: one that cannot be used; -ENOMEM. e quotes it and says why. */
int name_regex_check(const char *pattern, struct err_text *e);

/*
 * Is the whole name an instance of the expression? False for one that cannot be compiled. *budget is
 * the number of steps that the caller has left, and is reduced by those that were taken; false
 * without any left. Answers are remembered for a while: the same pair again takes no steps.
 */
bool name_regex_matches(const char *pattern, const char *name, uint64_t *budget);

/* As many steps as any expression and name of the limits' lengths may take. */
#define NAME_REGEX_STEPS (1u << 24)
