/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/str.h"

#include <fnmatch.h>
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
		*to = '\0'; /* in case that there is no room for it at all */
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
