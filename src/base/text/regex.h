/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * Regular expressions of ECMAScript (std::regex), as configs use them. Expression and text may be
 * hostile: matching takes time proportional to the length of the expression times that of the text,
 * and allocates nothing; only compiling allocates.
 *
 * Supported: | ( ) (?: ) . * + ? {m} {m,} {m,n} each also with ? after it, [...] with ranges,
 * escapes and [:classes:], ^ $ \b \B, \d \D \w \W \s \S, \t \n \v \f \r \0 \xHH, a backslash before
 * any other character. Rejected: \1 to \9, (?= ), (?! ), \u, \c, and what exceeds the limits below.
 * A text is a sequence of bytes: "." matches one byte other than \n and \r. ^ and $ match at the
 * ends of the text.
 *
 * Of several possible matches, the one that a backtracking matcher finds first is returned, with
 * its groups. A group in a repetition holds the last text that it matched.
 */

#define REGEX_MAX_BYTES 1024u
#define REGEX_MAX_DEPTH 16u /* groups in groups */
#define REGEX_MAX_GROUPS 32u /* groups that capture; number 0, the whole match, is one of them */
#define REGEX_MAX_OPS 1000u /* characters and operators, with {m,n} written out */

#define REGEX_UNSET SIZE_MAX

struct regex;

struct regex_span {
	size_t begin, end; /* offsets in the text; REGEX_UNSET: the group matched nothing */
};

/* Compiles pattern. Returns 0, or -ENOMEM or -EINVAL and sets e, which quotes the bad pattern. */
int regex_new(const char *pattern, struct err_text *e, struct regex **ret);
/* No-op for NULL. */
void regex_free(struct regex *re);
/* Returns the number of groups, including the whole match (number 0). */
size_t regex_groups(const struct regex *re);

enum regex_mode {
	REGEX_WHOLE, /* a match of everything from `from` to the end of the text */
	REGEX_SEARCH, /* the first match that begins at `from` or later */
};

/*
 * Searches the text from offset `from`; the bytes before it matter for ^ and \b. spans has one
 * entry for each group, or is NULL; it is only written for a match. *budget is the number of steps
 * allowed; the steps taken are subtracted. Returns 1 (match), 0 (no match) or -E2BIG (the budget is
 * used up, or the text has 2 GiB or more).
 *
 * re is not const: it holds the working memory of matching.
 */
int regex_match(struct regex *re, enum regex_mode mode, const void *text, size_t len, size_t from,
		struct regex_span *spans, uint64_t *budget);
