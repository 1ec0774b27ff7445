/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "config/text_lex.h"
#include "config/text_report.h"

/*
 * The state of reading a text, shared by the grammar (text_parse.c) and the values of single fields
 * (text_scalar.c). Nothing returns errors: they are complained about. Past TEXT_MAX_ERRORS, or
 * without memory, the text ends for the reader: every token is TEXT_END and nothing more is told.
 */
struct text_parser {
	struct text_lexer lexer; /* behind token; a copy looks ahead */
	/* The next to read; never TEXT_BAD_BYTES. TEXT_END lies where the last one ended. */
	struct text_token token;
	struct text_report report;
	struct text_token long_string; /* the last one that ran over a line end; len 0: none */
	bool out_of_memory;
};

void text_parser_init(struct text_parser *p, const char *name, const char *text, size_t len,
		      struct strbuf *errors);

void text_parser_advance(struct text_parser *p);

void text_parser_complain(struct text_parser *p, const char *at, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void text_parser_out_of_memory(struct text_parser *p);
