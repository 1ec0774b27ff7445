/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/str.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define FIRST_CAP 64

void strbuf_deinit(struct strbuf *b)
{
	free(b->s);
	*b = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->s)
		b->s[0] = '\0';
}

char *strbuf_reserve(struct strbuf *b, size_t n)
{
	size_t need = b->len + n + 1, cap = MAX(b->cap * 2, (size_t)FIRST_CAP);
	char *s;

	if (b->failed)
		return NULL;
	if (n < b->cap - b->len && b->s)
		return b->s + b->len;
	s = need > n ? realloc(b->s, MAX(cap, need)) : NULL;
	if (!s) {
		b->failed = true;
		return NULL;
	}
	b->s = s;
	b->cap = MAX(cap, need);
	return b->s + b->len;
}

void strbuf_add(struct strbuf *b, const void *s, size_t n)
{
	char *to = strbuf_reserve(b, n);

	if (!to)
		return;
	if (n > 0)
		memcpy(to, s, n);
	to[n] = '\0';
	b->len += n;
}

void strbuf_puts(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_putc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	char *to = strbuf_reserve(b, FIRST_CAP);
	va_list ap;
	int n;

	if (!to)
		return;
	va_start(ap, fmt);
	n = vsnprintf(to, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		*to = '\0';
		return;
	}
	if ((size_t)n >= b->cap - b->len) {
		*to = '\0'; /* ends the string if strbuf_reserve() fails */
		to = strbuf_reserve(b, (size_t)n);
		if (!to)
			return;
		va_start(ap, fmt);
		vsnprintf(to, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

char *strbuf_take(struct strbuf *b)
{
	char *s;

	if (!b->s)
		strbuf_add(b, "", 0);
	if (b->failed) {
		strbuf_deinit(b);
		return NULL;
	}
	s = b->s;
	*b = (struct strbuf){0};
	return s;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool str_glob(const char *pattern, const char *s)
{
	return fnmatch(pattern, s, 0) == 0;
}

/*
 * UTF-8 of RFC 3629: the first byte determines the length and a range for the second byte. The
 * range excludes overlong forms, surrogates, and numbers above U+10FFFF. Control characters are
 *
 *	00..1F 7F         as in ASCII
 *	C2 80 .. C2 9F    the second set, which terminals interpret, too (C2 9B is CSI)
 *	E2 80 AA .. AE    U+202A to U+202E, which change the direction of the text after them: it
 *	                  is shown elsewhere in the line
 *	E2 81 A6 .. A9    U+2066 to U+2069, likewise
 */

struct lead {
	uint8_t first, last; /* bytes that begin a sequence */
	uint8_t len;
	uint8_t low, high; /* what the second byte may be */
};

static const struct lead leads[] = {
	{0x20, 0x7e, 1, 0, 0},	     {0xc2, 0xc2, 2, 0xa0, 0xbf}, {0xc3, 0xdf, 2, 0x80, 0xbf},
	{0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
	{0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf},
	{0xf4, 0xf4, 4, 0x80, 0x8f},
};

/* Returns true if the text begins with one of U+202A to U+202E or U+2066 to U+2069. */
static bool str_changes_direction(const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;

	return len >= 3 && s[0] == 0xe2 &&
	       ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
		(s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

size_t str_printable_len(const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;

	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		const struct lead *l = &leads[i];

		if (*s < l->first || *s > l->last)
			continue;
		if (len < l->len || (l->len > 1 && (s[1] < l->low || s[1] > l->high)))
			return 0;
		for (size_t k = 2; k < l->len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return str_changes_direction((const char *)s, len) ? 0 : l->len;
	}
	return 0;
}

size_t str_utf8_len(const char *s, size_t len)
{
	if ((uint8_t)*s < 0x80)
		return 1;
	if ((uint8_t)*s == 0xc2 && len >= 2 && ((uint8_t)s[1] & 0xe0) == 0x80)
		return 2;
	return str_changes_direction(s, len) ? 3 : str_printable_len(s, len);
}

void str_make_plain(char *s, size_t len, const char *keep)
{
	size_t i = 0, n;

	while (i < len) {
		n = str_printable_len(s + i, len - i);
		if (!n && !(s[i] && strchr(keep, s[i])))
			s[i] = '?';
		i += n ? n : 1;
	}
}

/*
 * The edit distance for "Did you mean": optimal string alignment, row by row.
 *
 *	           c a n d i d a t e
 *	  above2   . x . . . . . . .      swap of neighbours comes from two rows above
 *	  above    . . a b . . . . .      d = min(a + replace, b + delete, c + insert, x + 1)
 *	  row      . . c d
 */

#define MAX_WORD (STR_NEAREST_SIZE - 1) /* longer words are not compared */

void str_nearest_init(struct str_nearest *n, const char *word)
{
	n->word = word;
	n->best = NULL;
	n->best_distance = (unsigned)(strlen(word) / 3 + 1);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	return MIN(MIN(a, b), c);
}

/* Returns the number of edits between two words of at most MAX_WORD bytes, but at most limit. */
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb, unsigned limit)
{
	unsigned rows[3][MAX_WORD + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		const unsigned *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];
		unsigned *row = rows[i % 3], least = row[0] = (unsigned)i;

		for (size_t j = 1; j <= nb; j++) {
			bool same = a[i - 1] == b[j - 1];

			row[j] = min3(above[j - 1] + !same, above[j] + 1, row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], above2[j - 2] + 1);
			least = MIN(least, row[j]);
		}
		if (least > limit)
			return limit;
	}
	return MIN(rows[na % 3][nb], limit);
}

void str_nearest_try(struct str_nearest *n, const char *candidate)
{
	size_t na = strlen(n->word), nb = strlen(candidate);
	unsigned d, limit = n->best_distance +
			    (n->best != NULL); /* this one is as near as the best: decided below */

	if (na > MAX_WORD || nb > MAX_WORD || na + limit <= nb || nb + limit <= na)
		return;
	d = edit_distance(n->word, na, candidate, nb, limit);
	if (d < n->best_distance || (d < limit && strcmp(candidate, n->best) < 0)) {
		n->best_distance = d;
		n->best = candidate;
	}
}

void str_nearest_try_copy(struct str_nearest *n, const char *candidate,
			  char best[static STR_NEAREST_SIZE])
{
	str_nearest_try(n, candidate);
	if (n->best == candidate) {
		memcpy(best, candidate, strlen(candidate) + 1);
		n->best = best;
	}
}

const char *str_nearest_get(const struct str_nearest *n)
{
	return n->best;
}

void strbuf_put_plain(struct strbuf *b, const char *text)
{
	size_t start = b->len;

	strbuf_puts(b, text);
	if (!b->failed)
		str_make_plain(b->s + start, b->len - start, "");
}

static bool is_plain_string(const char *s)
{
	struct strbuf copy = {0};
	bool same;

	strbuf_put_plain(&copy, s);
	same = !copy.failed && !strcmp(copy.s, s);
	strbuf_deinit(&copy);
	return same;
}

void strbuf_put_word(struct strbuf *b, const char *word)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "_./:=@%+,-";
	bool plain = is_plain_string(word);

	if (*word && !word[strspn(word, safe)]) {
		strbuf_puts(b, word);
		return;
	}
	strbuf_puts(b, plain ? "'" : "$'");
	for (const char *s = word; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (plain && c == '\'')
			strbuf_puts(b, "'\\''");
		else if (!plain && (c < ' ' || c > '~'))
			strbuf_printf(b, "\\x%02x", c);
		else if (!plain && (c == '\'' || c == '\\'))
			strbuf_printf(b, "\\%c", c);
		else
			strbuf_putc(b, *s);
	}
	strbuf_putc(b, '\'');
}

const char *str_word(const char *word, char buf[static STR_WORD_SIZE])
{
	struct strbuf b = {0};
	bool fits;

	strbuf_put_word(&b, word);
	fits = !b.failed && b.len < STR_WORD_SIZE;
	memcpy(buf, fits ? b.s : "FILE", fits ? b.len + 1 : sizeof("FILE"));
	strbuf_deinit(&b);
	return buf;
}

void strbuf_put_json(struct strbuf *b, const char *text)
{
	strbuf_put_json_n(b, text, strlen(text));
}

void strbuf_put_json_n(struct strbuf *b, const char *s, size_t len)
{
	size_t done = 0, i = 0; /* bytes before done are appended, those before i need no escape */

	strbuf_putc(b, '"');
	while (i < len) {
		size_t n = str_printable_len(s + i, len - i);
		unsigned char c = (unsigned char)s[i];

		if (n && c != '"' && c != '\\') {
			i += n;
			continue;
		}
		strbuf_add(b, s + done, i - done);
		i++;
		if (n)
			strbuf_printf(b, "\\%c", c);
		else if (c == '\n')
			strbuf_puts(b, "\\n");
		else if (c < ' ' || c == 0x7f)
			strbuf_printf(b, "\\u%04x", c);
		else if (str_changes_direction(s + i - 1, len - i + 1)) {
			strbuf_printf(b, "\\u%04x",
				      0x2000 | (s[i] & 0x3f) << 6 | (s[i + 1] & 0x3f));
			i += 2;
		} else
			strbuf_putc(b, '?');
		done = i;
	}
	strbuf_add(b, s + done, i - done);
	strbuf_putc(b, '"');
}

void strbuf_put_utf8(struct strbuf *b, uint32_t c)
{
	if (c < 0x80) {
		strbuf_putc(b, (char)c);
	} else if (c < 0x800) {
		strbuf_putc(b, (char)(0xc0 | c >> 6));
		strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		strbuf_putc(b, (char)(0xe0 | c >> 12));
		strbuf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else {
		strbuf_putc(b, (char)(0xf0 | c >> 18));
		strbuf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
		strbuf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
	}
}

void strbuf_put_base64(struct strbuf *b, const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = (len + 2) / 3 * 4;
	char *to = strbuf_reserve(b, n);
	const uint8_t *p = data;

	if (!to)
		return;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < len ? p[i + 2] : 0);

		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digits[v & 63] : '=';
	}
	*to = '\0';
	b->len += n;
}
