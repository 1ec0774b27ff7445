/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"

/* Splits text format into tokens. Nothing is copied: tokens point into the text. */

enum text_token_kind {
	TEXT_END,
	TEXT_WORD, /* letters, digits and '_', not starting with a digit */
	TEXT_INTEGER, /* decimal, 0octal or 0xhex; a sign is a separate token */
	TEXT_FLOAT, /* with a point, an exponent or the suffix f */
	TEXT_STRING, /* with its quotes; may span several lines */
	TEXT_SYMBOL, /* one punctuation character */
	TEXT_BAD_NUMBER, /* starts like a number but is invalid: 64kb, 09, 1.2.3 */
	TEXT_OPEN_STRING, /* the closing quote is missing; cut at the end of its first line */
	TEXT_BAD_BYTES, /* a run of bytes that are invalid in tokens */
};

struct text_token {
	enum text_token_kind kind;
	const char *s;
	size_t len;
};

/* A lexer may be copied to look ahead. */
struct text_lexer {
	const char *cur;
	const char *end;
};

/* Skips white space and comments and returns the next token; at the end, returns TEXT_END at every
 * call. */
struct text_token text_lexer_next(struct text_lexer *l);

static inline bool text_token_is(const struct text_token *t, char symbol)
{
	return t->kind == TEXT_SYMBOL && *t->s == symbol;
}

/* Errors of a text, each with its position, the line, and a caret below the wrong part. */

struct text_report {
	const char *name; /* borrowed, like text: the name of the file */
	const char *text;
	size_t len;
	struct strbuf *out; /* borrowed: receives the errors */
	unsigned n_errors;
};

/* Returns the line number of `at`, from 1. */
unsigned text_report_line_number(const struct text_report *r, const char *at);

/* The state of the parser, shared by the grammar (text_parse.c) and the values of single fields
 * (text_scalar.c). Functions do not return errors, they report them. After TEXT_MAX_ERRORS, or if
 * memory runs out, the input ends: every token is TEXT_END and no more errors are reported. */
struct text_parser {
	struct text_lexer lexer; /* positioned after token; copy it to look ahead */
	/* The next token; never TEXT_BAD_BYTES. The position of TEXT_END is the end of the last
	 * token. */
	struct text_token token;
	struct text_report report;
	struct text_token long_string; /* the last string of several lines; len 0: none */
	bool out_of_memory;
	bool lossy; /* unknown names are skipped without an error */
};

void text_parser_init(struct text_parser *p, const char *name, const char *text, size_t len,
		      struct strbuf *errors);

/* Reads the next token into p->token. */
void text_parser_advance(struct text_parser *p);

/* Reports an error about the n bytes at `at`. */
void text_parser_error(struct text_parser *p, const char *at, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void text_parser_out_of_memory(struct text_parser *p);
