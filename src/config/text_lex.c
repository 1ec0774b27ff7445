/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token extends as far as possible. A number includes every letter, digit, '_' and point that
 * follows, and is classified as a whole. So "64kb" is one invalid number, not a number and a word.
 */
#include "config/text_lex.h"

#include <string.h>

#include "base/text/str.h"
#include "config/text.h"

static bool text_lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool text_lex_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text_lex_is_digit(c) || c == '_';
}

static bool is_hex(char c)
{
	return text_lex_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool text_looks_like(const void *data, size_t len)
{
	const char *p = data, *end = p + len;

	while (p < end) {
		size_t n = is_space(*p) ? 1 : str_printable_len(p, (size_t)(end - p));

		if (n == 0)
			return false;
		p += n;
	}
	return true;
}

void text_lexer_init(struct text_lexer *l, const char *text, size_t len)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";

	l->cur = text;
	l->end = text + len;
	if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		l->cur += 3;
}

static void text_lex_skip_space(struct text_lexer *l)
{
	while (l->cur < l->end) {
		if (*l->cur == '#') {
			const char *eol = memchr(l->cur, '\n', (size_t)(l->end - l->cur));

			l->cur = eol ? eol : l->end;
		} else if (is_space(*l->cur)) {
			l->cur++;
		} else {
			return;
		}
	}
}

static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && text_lex_is_digit(*p))
		p++;
	return p;
}

/* Classifies the rest of a number, from p to end, without the digits before a point. It must have
 * the form [.[digits]][e[+-]digits][f]. */
static enum text_token_kind classify_fraction(const char *p, const char *end)
{
	if (p < end && *p == '.')
		p = skip_digits(p + 1, end);
	if (p < end && (*p == 'e' || *p == 'E')) {
		const char *digits = p + 1;

		if (digits < end && (*digits == '+' || *digits == '-'))
			digits++;
		p = skip_digits(digits, end);
		if (p == digits)
			return TEXT_BAD_NUMBER;
	}
	if (p < end && (*p == 'f' || *p == 'F'))
		p++;
	return p == end ? TEXT_FLOAT : TEXT_BAD_NUMBER;
}

static enum text_token_kind classify_number(const char *s, const char *end)
{
	const char *p = skip_digits(s, end);

	if (end - s >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		for (p = s + 2; p < end && is_hex(*p); p++)
			;
		return p == end && end - s > 2 ? TEXT_INTEGER : TEXT_BAD_NUMBER;
	}
	if (p - s >= 2 && s[0] == '0') { /* octal, which has no fraction */
		for (p = s; p < end && *p >= '0' && *p <= '7'; p++)
			;
		return p == end ? TEXT_INTEGER : TEXT_BAD_NUMBER;
	}
	return p == end ? TEXT_INTEGER : classify_fraction(p, end);
}

static const char *number_end(const char *s, const char *end)
{
	bool hex = end - s >= 2 && (s[1] == 'x' || s[1] == 'X');
	const char *p = s;

	while (p < end) {
		bool exponent_sign =
			(*p == '+' || *p == '-') && !hex && p > s && (p[-1] == 'e' || p[-1] == 'E');

		if (!text_lex_is_word(*p) && *p != '.' && !exponent_sign)
			break;
		p++;
	}
	return p;
}

/* Reads a string. A backslash and the next character stay together. */
static struct text_token lex_string(const char *s, const char *end)
{
	const char *eol;

	for (const char *p = s + 1; p < end && *p; p++) {
		if (*p == *s)
			return (struct text_token){TEXT_STRING, s, (size_t)(p + 1 - s)};
		if (*p == '\\' && p + 1 < end && p[1])
			p++;
	}
	eol = memchr(s, '\n', (size_t)(end - s));
	return (struct text_token){TEXT_OPEN_STRING, s, (size_t)((eol ? eol : end) - s)};
}

static bool is_symbol(char c)
{
	return c > ' ' && c < 0x7f && !text_lex_is_word(c) && c != '"' && c != '\'' && c != '#';
}

static struct text_token lex(const char *s, const char *end)
{
	const char *p = s;

	if (s == end)
		return (struct text_token){TEXT_END, s, 0};
	if (text_lex_is_digit(*s) || (*s == '.' && s + 1 < end && text_lex_is_digit(s[1]))) {
		p = number_end(s, end);
		return (struct text_token){classify_number(s, p), s, (size_t)(p - s)};
	}
	if (text_lex_is_word(*s)) {
		while (p < end && text_lex_is_word(*p))
			p++;
		return (struct text_token){TEXT_WORD, s, (size_t)(p - s)};
	}
	if (*s == '"' || *s == '\'')
		return lex_string(s, end);
	if (is_symbol(*s))
		return (struct text_token){TEXT_SYMBOL, s, 1};
	while (p < end && !is_symbol(*p) && !text_lex_is_word(*p) && !is_space(*p) && *p != '"' &&
	       *p != '\'' && *p != '#')
		p++;
	return (struct text_token){TEXT_BAD_BYTES, s, (size_t)(p - s)};
}

struct text_token text_lexer_next(struct text_lexer *l)
{
	struct text_token t;

	text_lex_skip_space(l);
	t = lex(l->cur, l->end);
	l->cur += t.len;
	return t;
}
