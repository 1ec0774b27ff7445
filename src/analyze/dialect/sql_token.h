/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The words of SQL: enough to find where a statement ends, and to replace parts of it. */

enum sql_token_kind {
	SQL_TOKEN_END,
	SQL_TOKEN_SPACE, /* white space and comments */
	SQL_TOKEN_NAME, /* also keywords, and names in double quotes, backquotes or brackets */
	SQL_TOKEN_STRING, /* 'text' */
	SQL_TOKEN_NUMBER,
	SQL_TOKEN_VARIABLE, /* $name */
	SQL_TOKEN_OTHER, /* an operator, a bracket, ';', or a byte that SQL does not use */
};

struct sql_token {
	enum sql_token_kind kind;
	const char *s; /* borrowed from the text */
	size_t len;
};

/* A text, and how far it was read. */
struct sql_reader {
	const char *s, *end;
};

struct sql_reader sql_reader_of(const char *text, size_t len);
/* Reads the next token, which may be white space. An unterminated string or comment is a token up
 * to the end of the text. */
struct sql_token sql_token_next(struct sql_reader *r);
/* Reads the next token that is not white space. */
struct sql_token sql_token_next_word(struct sql_reader *r);
/* Returns the next token that is not white space, but does not move the reader. */
struct sql_token sql_token_peek(const struct sql_reader *r);

bool sql_token_is_char(struct sql_token t, char c);
/* True for this word in upper or lower case. */
bool sql_token_is_word(struct sql_token t, const char *word);

/* Reads these words, separated by single spaces, if they come next; otherwise the reader stays. */
bool sql_reader_accept_words(struct sql_reader *r, const char *words);
/* Reads the character if it comes next, after white space. */
bool sql_reader_accept_char(struct sql_reader *r, char c);

/* Reads up to, but not including, the first `stop` or `other_stop` outside of brackets, or the
 * first unmatched closing bracket, or the end. Returns the text before that. */
struct sql_reader sql_reader_read_until(struct sql_reader *r, char stop, char other_stop);

/* Reads a statement and the ';' after it. Returns the text without the ';'. */
struct sql_reader sql_reader_read_statement(struct sql_reader *r);

/* Writes the name that a token stands for, without its quotes. Returns false if it is not a name or
 * does not fit. */
bool sql_token_name(struct sql_token t, char *buf, size_t size);
