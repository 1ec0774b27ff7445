/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

/* Regular expressions for names that peers choose, in the syntax of base/text/regex.h. */

/* Returns 0, -EINVAL if the expression is invalid or unsupported, or -ENOMEM. Sets e to the
 * expression and the reason. */
int name_regex_check(const char *pattern, struct err_text *e);

/* Returns true if the expression matches the whole name; false for an invalid expression. *budget
 * is the number of steps that remain; the call reduces it, and returns false at 0. Results are
 * cached: the same pair again takes no steps. */
bool name_regex_matches(const char *pattern, const char *name, uint64_t *budget);

/* Enough steps for any expression and name within the limits. */
#define NAME_REGEX_STEPS (1u << 24)
