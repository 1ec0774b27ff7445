/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/text/str.h"

/* Appends a help text in lines of at most `columns` characters (but at least 40): a line that is
 * longer is broken between words, and goes on below the beginning of its description. Lines that
 * go on the description above them are joined with it first. */
void help_wrap(const char *text, size_t columns, struct strbuf *out);

/* Prints a help text on stdout: as it is, or wrapped if stdout is a terminal that is narrower. */
void help_print(const char *text);
