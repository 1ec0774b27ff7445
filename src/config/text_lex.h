/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

void text_lexer_init(struct text_lexer *l, const char *text, size_t len);
/* Skips white space and comments and returns the next token; at the end, returns TEXT_END at every
 * call. */
struct text_token text_lexer_next(struct text_lexer *l);

static inline bool text_token_is(const struct text_token *t, char symbol)
{
	return t->kind == TEXT_SYMBOL && *t->s == symbol;
}
