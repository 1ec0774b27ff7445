/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/mcp/answer_pages.h"

/* Adds JSON that a verb printed as lines: a table as a line with its columns and a line for each
 * row, which is an array; everything else as "key: value". The text may have several values, one
 * after the other (sonda sql). cut: the text ends anywhere; rows up to its last whole line are
 * used. Returns 0, or -EBADMSG: the text is not JSON, or -ENOMEM. */
int answer_add_json(struct answer *a, const char *text, size_t len, bool cut);
