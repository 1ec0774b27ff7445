/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * Regular expressions of ECMAScript (std::regex), as configs use them. Expression and text may be hostile:
 * of other processes: time grows with length of expression times length of text and no faster, memory is
 * taken when the expression is compiled and never again.
 *
 * Known: | ( ) (?: ) . * + ? {m} {m,} {m,n} and each with ? behind, [...] with ranges, escapes and
 * [:classes:], ^ $ \b \B, \d \D \w \W \s \S, \t \n \v \f \r \0 \xHH, a backslash before any other
 * sign. Refused: \1 to \9, (?= ), (?! ), \u, \c, and what exceeds the limits below. Texts are bytes:
 * a character of UTF-8 is several, and "." is each of them but \n and \r. ^ and $ are the ends of
 * the text.
 *
 * Of several ways to match, the one that a backtracking matcher would find first counts, for the
 * groups as well. A group in a repetition keeps the last text that it matched.
 */

#define REGEX_MAX_BYTES 1024u
#define REGEX_MAX_DEPTH 16u /* groups in groups */
#define REGEX_MAX_GROUPS 32u /* that capture, the whole match (number 0) included */
#define REGEX_MAX_OPS 1000u /* characters and operators, with {m,n} written out */

#define REGEX_UNSET SIZE_MAX

struct regex;

struct ecma_span {
	size_t begin, end; /* offsets in the text; REGEX_UNSET: the group has no part */
};

/* Returns 0; -ENOMEM; -EINVAL: one that cannot be used. e quotes it and says why. */
int regex_new(const char *pattern, struct err_text *e, struct regex **ret);
/* No-op for NULL. */
void regex_free(struct regex *re);
/* Groups, the whole match (number 0) included. */
size_t regex_groups(const struct regex *re);

enum regex_mode {
	REGEX_WHOLE, /* from `from` to the end of the text, no less */
	REGEX_SEARCH, /* the first match that begins at `from` or behind */
};

/*
 * Looks for a match in the text; what is before `from` counts for ^ and \b. spans has an entry for
 * each group, or is NULL where nobody asks. *budget is how many steps it may take, less those that
 * it took. 1: found; 0: there is none; -E2BIG: the budget is used up.
 *
 * Not const: the expression has the memory that the matching works in.
 */
int regex_match(struct regex *re, enum regex_mode mode, const void *text, size_t len, size_t from,
		struct ecma_span *spans, uint64_t *budget);
