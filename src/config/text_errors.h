/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"
#include "config/text_lex.h"

/* Errors of a text, each with its place, the line and a caret under what is meant. */

struct text_report {
	const char *name; /* borrowed, like text: stands for the file */
	const char *text;
	size_t len;
	struct strbuf *out; /* borrowed: where the errors go */
	unsigned n_errors;
};

/* Appends an error about the n bytes at `at`, which lies inside the text or at its end. */
void text_report_at(struct text_report *r, const char *at, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Counts from 1. */
unsigned text_report_line(const struct text_report *r, const char *at);

/*
 * The state of reading a text, shared by the grammar (text_parse.c) and the values of single fields
 * (text_scalar.c). Nothing returns errors: they are complained about. Past TEXT_MAX_ERRORS, or
 * without memory, the text ends for the reader: every token is TEXT_END and nothing more is reported.
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

void text_parser_error(struct text_parser *p, const char *at, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void text_parser_out_of_memory(struct text_parser *p);
