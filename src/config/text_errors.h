/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"
#include "config/text_lex.h"

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

/*
 * The state of the parser, shared by the grammar (text_parse.c) and the values of single fields
 * (text_scalar.c). Functions return no errors but report them. After TEXT_MAX_ERRORS, or without
 * memory, the input ends: every token is TEXT_END and no more errors are reported.
 */
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

void text_parser_advance(struct text_parser *p);

void text_parser_error(struct text_parser *p, const char *at, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void text_parser_out_of_memory(struct text_parser *p);
