/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token extends as far as possible. A number includes every letter, digit, '_' and point that
 * follows, and is classified as a whole. So "64kb" is one invalid number, not a number and a word.
 */
#include "config/text_lex.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
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

static void text_lexer_init(struct text_lexer *l, const char *text, size_t len)
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

static const char *find_number_end(const char *s, const char *end)
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

static struct text_token read_token(const char *s, const char *end)
{
	const char *p = s;

	if (s == end)
		return (struct text_token){TEXT_END, s, 0};
	if (text_lex_is_digit(*s) || (*s == '.' && s + 1 < end && text_lex_is_digit(s[1]))) {
		p = find_number_end(s, end);
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
	t = read_token(l->cur, l->end);
	l->cur += t.len;
	return t;
}

/*
 *	name:7:90: error: no field named "buffer" in TraceConfig; did you mean "buffers"?
 *	    ...ation_ms: 1000 buffer { size_kb: 64 }
 *	                      ^~~~~~
 *
 * The error shows one part of the line around the position. Bytes that are not printable become
 * '?', because the output may be a terminal. Tabs remain tabs in both rows, so that the caret is in
 * its column for any tab width.
 */

#define MESSAGE_MAX_BYTES 400
#define SHOWN_BEFORE 60 /* bytes of the line before the position */
#define SHOWN_AFTER 60 /* and from the position on */
#define INDENT "    "

unsigned text_report_line_number(const struct text_report *r, const char *at)
{
	const char *p = r->text;
	unsigned line = 1;

	while (p < at && (p = memchr(p, '\n', (size_t)(at - p)))) {
		line++;
		p++;
	}
	return line;
}

static const char *line_start(const struct text_report *r, const char *at)
{
	const char *p = at == r->text ? NULL : memrchr(r->text, '\n', (size_t)(at - r->text));

	return p ? p + 1 : r->text;
}

static const char *line_end(const struct text_report *r, const char *at)
{
	const char *end = r->text + r->len;
	const char *p = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));

	if (p)
		end = p;
	return end > at && end[-1] == '\r' ? end - 1 : end;
}

static bool is_continuation(char c)
{
	return (c & 0xc0) == 0x80;
}

/* Writes the part first..last of a line, and collects the row of carets below it. */
static void put_line_part(struct strbuf *out, struct strbuf *carets, const char *first,
			  const char *last, const char *at, size_t n)
{
	for (const char *p = first; p < last; p++) {
		size_t width = str_printable_len(p, (size_t)(last - p));

		if (*p == '\t')
			strbuf_putc(out, '\t');
		else if (width > 0)
			strbuf_add(out, p, width);
		else
			strbuf_putc(out, '?');
		if (p < at)
			strbuf_putc(carets, *p == '\t' ? '\t' : ' ');
		else if (p > at && p < at + n)
			strbuf_putc(carets, '~');
		else if (p == at)
			strbuf_putc(carets, '^');
		p += MAX(width, 1) - 1;
	}
	if (at == last)
		strbuf_putc(carets, '^');
}

static void put_line_with_carets(struct text_report *r, const char *at, size_t n)
{
	const char *first = line_start(r, at), *last = line_end(r, at);
	bool cut_before = at - first > SHOWN_BEFORE, cut_after = last - at > SHOWN_AFTER;
	struct strbuf carets = {0};

	if (cut_before)
		first = at - SHOWN_BEFORE;
	if (cut_after)
		last = at + SHOWN_AFTER;
	while (cut_before && first < at && is_continuation(*first))
		first++;
	while (cut_after && last > at && is_continuation(*last))
		last--;
	strbuf_puts(r->out, cut_before ? INDENT "..." : INDENT);
	strbuf_puts(&carets, cut_before ? INDENT "   " : INDENT);
	put_line_part(r->out, &carets, first, last, at, n);
	strbuf_puts(r->out, cut_after ? "...\n" : "\n");
	strbuf_puts(&carets, "\n");
	if (carets.failed)
		r->out->failed = true;
	else
		strbuf_add(r->out, carets.s, carets.len);
	strbuf_deinit(&carets);
}

/* Appends an error about the n bytes at `at`, which is inside the text or at its end. */
static void text_report_at(struct text_report *r, const char *at, size_t n, const char *fmt, ...)
{
	char message[MESSAGE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	strbuf_printf(r->out, "%s:%u:%zu: error: %s\n", r->name, text_report_line_number(r, at),
		      (size_t)(at - line_start(r, at)) + 1, message);
	put_line_with_carets(r, at, n);
	r->n_errors++;
}

/*
 * A missing quote makes a string continue to the next quote, maybe lines below, and the error
 * appears there. Therefore every error in a line where a multi-line string ended also names the
 * line where that string began.
 */

#define PARSER_MESSAGE_MAX_BYTES 512

static bool parser_has_stopped(const struct text_parser *p)
{
	return p->out_of_memory || p->report.n_errors >= TEXT_MAX_ERRORS;
}

void text_parser_out_of_memory(struct text_parser *p)
{
	p->out_of_memory = true;
	text_parser_advance(p);
}

static bool follows_long_string(const struct text_parser *p, const char *at)
{
	const struct text_token *t = &p->long_string;
	const char *end;

	if (t->len == 0)
		return false;
	end = t->s + t->len;
	return at >= end && !memchr(end, '\n', (size_t)(at - end));
}

void text_parser_error(struct text_parser *p, const char *at, size_t n, const char *fmt, ...)
{
	char message[PARSER_MESSAGE_MAX_BYTES], hint[80] = "";
	va_list ap;

	if (parser_has_stopped(p))
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (follows_long_string(p, at))
		snprintf(hint, sizeof(hint), " (a string that began on line %u ends on this line)",
			 text_report_line_number(&p->report, p->long_string.s));
	text_report_at(&p->report, at, n, "%s%s", message, hint);
	if (p->report.n_errors == TEXT_MAX_ERRORS) {
		strbuf_printf(p->report.out, "%s: error: %d errors; the rest was not read\n",
			      p->report.name, TEXT_MAX_ERRORS);
		text_parser_advance(p);
	}
}

static void report_lexer_error(struct text_parser *p)
{
	const struct text_token *t = &p->token;

	if (t->kind == TEXT_OPEN_STRING)
		text_parser_error(p, t->s, t->len, "the string that begins here is not closed");
	else if ((*t->s & 0x80) != 0)
		text_parser_error(p, t->s, t->len,
				  "characters other than ASCII are allowed only in strings and "
				  "comments");
	else
		text_parser_error(p, t->s, t->len, "control character 0x%02x in the text",
				  (unsigned)*t->s);
}

void text_parser_advance(struct text_parser *p)
{
	const char *behind = p->token.s + p->token.len;

	do {
		if (parser_has_stopped(p))
			p->token = (struct text_token){.kind = TEXT_END};
		else
			p->token = text_lexer_next(&p->lexer);
		if (p->token.kind == TEXT_STRING && memchr(p->token.s, '\n', p->token.len))
			p->long_string = p->token;
		if (p->token.kind == TEXT_BAD_BYTES || p->token.kind == TEXT_OPEN_STRING)
			report_lexer_error(p);
	} while (p->token.kind == TEXT_BAD_BYTES);
	if (p->token.kind == TEXT_END)
		p->token.s = behind;
}

void text_parser_init(struct text_parser *p, const char *name, const char *text, size_t len,
		      struct strbuf *errors)
{
	*p = (struct text_parser){
		.token = {TEXT_END, text, 0},
		.report = {.name = name, .text = text, .len = len, .out = errors},
	};
	text_lexer_init(&p->lexer, text, len);
	text_parser_advance(p);
}
