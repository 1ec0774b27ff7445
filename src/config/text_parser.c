/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forgotten quote makes a string run on to the next quote, maybe lines below, and the error shows
 * there. So every complaint about a line in which a longer string ended says where that one began.
 */
#include "config/text_parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/text.h"

#define MESSAGE_MAX_BYTES 512

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

void text_parser_complain(struct text_parser *p, const char *at, size_t n, const char *fmt, ...)
{
	char message[MESSAGE_MAX_BYTES], hint[80] = "";
	va_list ap;

	if (stopped(p))
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (follows_long_string(p, at))
		snprintf(hint, sizeof(hint), " (a string that began in line %u ends in this one)",
			 text_report_line(&p->report, p->long_string.s));
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
		text_parser_complain(p, t->s, t->len, "the string that begins here is not closed");
	else if ((*t->s & 0x80) != 0)
		text_parser_complain(
			p, t->s, t->len,
			"characters other than ASCII stand only in strings and comments");
	else
		text_parser_complain(p, t->s, t->len, "control character 0x%02x in the text",
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
