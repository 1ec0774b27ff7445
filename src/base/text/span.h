/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* String view: a piece of a text that is not NUL-terminated, such as a line or word of a /proc
 * file. */
struct span {
	const char *p;
	size_t len;
};

static inline bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.p, text, s.len) == 0;
}

static inline bool span_ends(struct span s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.len >= n && memcmp(s.p + s.len - n, suffix, n) == 0;
}

/* Returns s without leading and trailing blanks. */
struct span span_trim(struct span s);
/* Cut the first line, or the first word, off the text. Return false if none is left. */
bool span_next_line(struct span *text, struct span *ret_line);
bool span_next_word(struct span *text, struct span *ret_word);
/* Splits "key  : value" and trims both. Returns false if there is no colon. */
bool span_split(struct span line, struct span *ret_key, struct span *ret_value);
