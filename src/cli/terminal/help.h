/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/text/str.h"

/* Appends a help text in lines of at most `columns` characters (but at least 40). Longer lines are
 * broken between words, and continue below the start of their description. Lines that continue the
 * description above them are first joined to it. */
void help_wrap(const char *text, size_t columns, struct strbuf *out);

/* Prints a help text on stdout: as it is, or wrapped if stdout is a terminal that is narrower. */
void help_print(const char *text);
