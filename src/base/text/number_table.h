/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/span.h"

/* Scanners for the number tables of /proc, which are read many times a second: inline, one pass. */

/* Cuts leading blanks and a decimal number off s. Returns false and leaves s alone if there is no
 * number, it overflows, or it is not followed by a blank or the end of the line. */
static inline bool number_table_u64(struct span *s, uint64_t *ret_v)
{
	const char *p = s->p, *end = p + s->len, *first;
	uint64_t v = 0;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	first = p;
	for (unsigned digit; p < end && (digit = (unsigned)*p - '0') <= 9; p++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
			return false;
	if (p == first || (p < end && *p != ' ' && *p != '\t' && *p != '\n'))
		return false;
	*s = (struct span){p, (size_t)(end - p)};
	*ret_v = v;
	return true;
}

/* Like number_table_u64(), for a number of at most 63 bits with an optional minus. */
static inline bool number_table_i64(struct span *s, int64_t *ret_v)
{
	struct span rest = span_trim(*s);
	bool minus = rest.len > 0 && rest.p[0] == '-';
	uint64_t v;

	if (minus)
		rest = (struct span){rest.p + 1, rest.len - 1};
	if (minus && (rest.len == 0 || rest.p[0] == ' '))
		return false;
	if (!number_table_u64(&rest, &v) || v > INT64_MAX)
		return false;
	*s = rest;
	*ret_v = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

/* Cuts n words off s. Returns false if there are fewer. */
static inline bool number_table_skip(struct span *s, unsigned n)
{
	struct span word;

	while (n-- > 0)
		if (!span_next_word(s, &word))
			return false;
	return true;
}

/* Cuts the prefix off s. Returns false if s does not begin with it. */
static inline bool number_table_cut_prefix(struct span *s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (s->len < n || memcmp(s->p, prefix, n) != 0)
		return false;
	*s = (struct span){s->p + n, s->len - n};
	return true;
}

/* Cuts the next line off text. Returns false if the rest has no newline; it stays in text. */
static inline bool number_table_line(struct span *text, struct span *ret_line)
{
	const char *nl = text->len > 0 ? memchr(text->p, '\n', text->len) : NULL;
	size_t len;

	if (!nl)
		return false;
	len = (size_t)(nl - text->p);
	*ret_line = (struct span){text->p, len};
	*text = (struct span){nl + 1, text->len - len - 1};
	return true;
}
