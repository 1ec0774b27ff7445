/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/json_read.h"

#include <stdint.h>
#include <string.h>

static bool json_fail(struct json_reader *r)
{
	r->failed = true;
	r->at = r->end;
	return false;
}

/* Skips blanks. Returns the next character, 0 at the end. */
static char json_peek(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
	return r->at < r->end ? *r->at : '\0';
}

static bool json_skip_char(struct json_reader *r, char c)
{
	if (json_peek(r) != c || r->at == r->end)
		return false;
	r->at++;
	return true;
}

/* Reads four hexadecimal digits. Returns false if they are not. */
static bool json_read_hex4(const char **at, const char *end, uint32_t *ret)
{
	*ret = 0;
	if (end - *at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *(*at)++, low = (char)(c | 0x20);

		if (c >= '0' && c <= '9')
			*ret = *ret << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			*ret = *ret << 4 | (uint32_t)(low - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* Reads what follows "\u". A surrogate without its other half becomes '?'. Returns false if it is
 * invalid. */
static bool json_read_unicode(const char **at, const char *end, uint32_t *ret)
{
	uint32_t high, low;
	const char *next;

	if (!json_read_hex4(at, end, &high))
		return false;
	*ret = high >= 0xd800 && high < 0xe000 ? '?' : high;
	if (high < 0xd800 || high >= 0xdc00 || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return true;
	next = *at + 2;
	if (!json_read_hex4(&next, end, &low))
		return false;
	if (low < 0xdc00 || low >= 0xe000)
		return true;
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	*at = next;
	return true;
}

static size_t json_put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Reads the character at *at, or its escape. Returns false if it is invalid. */
static bool json_read_char(const char **at, const char *end, uint32_t *ret)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *found;

	*ret = (unsigned char)*(*at)++;
	if (*ret != '\\')
		return *ret >= 0x20;
	if (*at == end)
		return false;
	if (**at == 'u') {
		++*at;
		return json_read_unicode(at, end, ret);
	}
	found = **at ? strchr(escapes, **at) : NULL;
	if (!found)
		return false;
	++*at;
	*ret = (unsigned char)meanings[found - escapes];
	return true;
}

/* Reads a string, which begins at r->at, into buf (NULL: nowhere). Returns false and fails r if it
 * is invalid. *ret_fits: buf holds the whole string. */
static bool json_read_string(struct json_reader *r, char *buf, size_t size, bool *ret_fits)
{
	const char *at = r->at + 1;
	size_t len = 0;

	*ret_fits = buf != NULL;
	while (at < r->end && *at != '"') {
		bool is_byte = *at != '\\';
		uint32_t c;

		if (!json_read_char(&at, r->end, &c))
			return json_fail(r);
		*ret_fits = *ret_fits && c && len + (is_byte ? 1 : 4) < size;
		if (!*ret_fits)
			continue;
		if (is_byte)
			buf[len++] = (char)c;
		else
			len += json_put_utf8(buf + len, c);
	}
	if (at == r->end)
		return json_fail(r);
	r->at = at + 1;
	if (*ret_fits)
		buf[len] = '\0';
	return true;
}

/* Skips the comma before the next member or element. Returns false if there is none left, and skips
 * the closing bracket; also returns false after an error. */
static bool json_next(struct json_reader *r, char bracket)
{
	if (r->failed || !r->depth)
		return false;
	if (json_skip_char(r, bracket)) {
		r->depth--;
		r->is_first = false;
		return false;
	}
	if (!r->is_first && !json_skip_char(r, ','))
		return json_fail(r);
	r->is_first = false;
	return true;
}

void json_reader_init(struct json_reader *r, const char *text, size_t len)
{
	*r = (struct json_reader){.at = text, .end = text + len};
}

bool json_open(struct json_reader *r, char bracket)
{
	if (r->failed || json_peek(r) != bracket)
		return false;
	if (r->depth == JSON_DEPTH_MAX)
		return json_fail(r);
	r->at++;
	r->depth++;
	r->is_first = true;
	return true;
}

bool json_next_member(struct json_reader *r, char *key, size_t size)
{
	bool fits;

	if (!json_next(r, '}'))
		return false;
	if (json_peek(r) != '"')
		return json_fail(r);
	if (!json_read_string(r, key, size, &fits))
		return false;
	if (!fits)
		key[0] = '\0';
	return json_skip_char(r, ':') || json_fail(r);
}

bool json_next_element(struct json_reader *r)
{
	return json_next(r, ']');
}

bool json_take_string(struct json_reader *r, char *ret, size_t size)
{
	const char *begin;
	bool fits;

	if (r->failed || json_peek(r) != '"')
		return false;
	begin = r->at;
	if (!json_read_string(r, ret, size, &fits))
		return false;
	if (!fits)
		r->at = begin;
	return fits;
}

/* Skips a number or a word, up to a character that may follow it. Returns false and fails r if
 * there is none. */
static bool json_skip_word(struct json_reader *r)
{
	const char *begin = r->at;

	while (r->at < r->end && (*r->at == '-' || *r->at == '+' || *r->at == '.' ||
				  (*r->at >= '0' && *r->at <= '9') ||
				  (*r->at >= 'a' && *r->at <= 'z') || *r->at == 'E'))
		r->at++;
	return r->at > begin || json_fail(r);
}

/* Skips a string, a number or a word; or opens an object or array and returns true. `types` has a
 * bit for each one that is open: 1 for an object, 0 for an array. */
static bool json_skip_or_open(struct json_reader *r, uint64_t *types, unsigned base)
{
	bool is_object = json_peek(r) == '{', ignored;

	if (is_object || json_peek(r) == '[') {
		if (!json_open(r, *r->at))
			return false;
		*types = (*types & ~(1ull << (r->depth - base - 1))) |
			 (uint64_t)is_object << (r->depth - base - 1);
		return true;
	}
	if (json_peek(r) == '"')
		(void)json_read_string(r, NULL, 0, &ignored);
	else
		(void)json_skip_word(r);
	return false;
}

void json_skip(struct json_reader *r)
{
	unsigned base = r->depth;
	uint64_t types = 0;
	char key[1];

	if (r->failed || !json_skip_or_open(r, &types, base))
		return;
	while (r->depth > base && !r->failed) {
		bool is_object = types >> (r->depth - base - 1) & 1;

		if (is_object ? json_next_member(r, key, sizeof(key)) : json_next_element(r))
			(void)json_skip_or_open(r, &types, base);
	}
}

bool json_end(struct json_reader *r)
{
	(void)json_peek(r);
	return !r->failed && !r->depth && r->at == r->end;
}
