/* SPDX-License-Identifier: Apache-2.0 */
#include "config/text_errors.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/text.h"
#include "config/text_lex.h"

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
#define SHOWN_AFTER 60 /* and from it on */
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
static void show_stretch(struct strbuf *out, struct strbuf *carets, const char *first,
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

static void show_line(struct text_report *r, const char *at, size_t n)
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
	show_stretch(r->out, &carets, first, last, at, n);
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
	show_line(r, at, n);
	r->n_errors++;
}

/*
 * A missing quote makes a string continue to the next quote, maybe lines below, and the error
 * appears there. Therefore every error in a line where a multi-line string ended also names the
 * line where that string began.
 */

#define PARSER_MESSAGE_MAX_BYTES 512

static bool stopped(const struct text_parser *p)
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

	if (stopped(p))
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (follows_long_string(p, at))
		snprintf(hint, sizeof(hint), " (a string that began in line %u ends in this one)",
			 text_report_line_number(&p->report, p->long_string.s));
	text_report_at(&p->report, at, n, "%s%s", message, hint);
	if (p->report.n_errors == TEXT_MAX_ERRORS) {
		strbuf_printf(p->report.out, "%s: error: %d errors; the rest was not read\n",
			      p->report.name, TEXT_MAX_ERRORS);
		text_parser_advance(p);
	}
}

static void complain_of_lexer(struct text_parser *p)
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
		if (stopped(p))
			p->token = (struct text_token){.kind = TEXT_END};
		else
			p->token = text_lexer_next(&p->lexer);
		if (p->token.kind == TEXT_STRING && memchr(p->token.s, '\n', p->token.len))
			p->long_string = p->token;
		if (p->token.kind == TEXT_BAD_BYTES || p->token.kind == TEXT_OPEN_STRING)
			complain_of_lexer(p);
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
