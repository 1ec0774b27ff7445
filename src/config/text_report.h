/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/text/str.h"

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
