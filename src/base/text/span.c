/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/span.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct span span_trim(struct span s)
{
	while (s.len > 0 && is_blank(s.p[0])) {
		s.p++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

bool span_next_line(struct span *text, struct span *ret_line)
{
	const char *nl;
	size_t len;

	if (text->len == 0)
		return false;
	nl = memchr(text->p, '\n', text->len);
	len = nl ? (size_t)(nl - text->p) : text->len;
	*ret_line = (struct span){text->p, len};
	text->p += len + (nl ? 1 : 0);
	text->len -= len + (nl ? 1 : 0);
	return true;
}

bool span_next_word(struct span *text, struct span *ret_word)
{
	struct span s = span_trim(*text);
	size_t n = 0;

	while (n < s.len && !is_blank(s.p[n]) && s.p[n] != '\n')
		n++;
	if (n == 0)
		return false;
	*ret_word = (struct span){s.p, n};
	*text = (struct span){s.p + n, s.len - n};
	return true;
}

bool span_split(struct span line, struct span *ret_key, struct span *ret_value)
{
	const char *colon = line.len > 0 ? memchr(line.p, ':', line.len) : NULL;
	size_t n;

	if (!colon)
		return false;
	n = (size_t)(colon - line.p);
	*ret_key = span_trim((struct span){line.p, n});
	*ret_value = span_trim((struct span){colon + 1, line.len - n - 1});
	return true;
}
