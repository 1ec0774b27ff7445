/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * Answers that a language model reads: lines of text, given out in pages of a limited number of
 * tokens. The last answers are kept, so that a handle names the rest of one.
 */

#define ANSWER_TOKENS_MAX 4000 /* of a page */
#define ANSWER_LINE_MAX 1500 /* bytes; a longer line is cut and marked */
#define ANSWERS_KEPT 16
#define ANSWER_BYTES_MAX (4u << 20) /* of a whole answer */

/* Returns an estimate of the tokens of a text, which is meant to be too high for the tokenizers of
 * all models: 3 letters or blanks are one token, 2 digits are one, and each other byte is one. */
size_t tokens_estimate(const char *text);

struct answer {
	unsigned id; /* 0: empty */
	char **lines; /* owned, with the strings */
	size_t *heads; /* owned: of each line, 1 + the line that explains its columns; 0: none */
	size_t n, cap, heads_cap, bytes;
	size_t head; /* of the lines that are added now; 0: none */
	bool failed; /* memory runs out */
	bool cut; /* lines beyond ANSWER_BYTES_MAX were left out */
};

void answer_deinit(struct answer *a);
/* Adds a line, which may have no newline. A line longer than ANSWER_LINE_MAX is cut. */
void answer_add(struct answer *a, const char *line);
void answer_printf(struct answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a line that explains the columns of the following rows. Pages that begin with one of these
 * rows repeat it. */
void answer_add_head(struct answer *a, const char *line);
/* The following lines are no rows. */
void answer_end_rows(struct answer *a);

/* The answers that are kept. Zero-initialise. */
struct answers {
	struct answer of[ANSWERS_KEPT];
	unsigned last_id;
};

void answers_deinit(struct answers *a);
/* Keeps an answer in place of the oldest one, and empties *answer. Appends its first page. */
void answers_add(struct answers *a, struct answer *answer, struct strbuf *ret_page);
/* Appends the page that a handle names. Returns 0, or -ENOENT and sets e. */
int answers_put_more(const struct answers *a, const char *handle, struct strbuf *ret_page,
		     struct err_text *e);
