/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/parquet/parquet_values.h"
#include "base/text/str.h"

/* A column of the rows of a row group. A text is stored once; its value is its number, in the order
 * in which the texts appeared. */
#define PARQUET_TEXT_GUESSES 256u /* a power of two */

/* The least and the greatest value. */
struct parquet_range {
	uint64_t lo, hi;
	bool is_valid; /* there are values, and none is NaN */
};

/* A text of the row group. */
struct parquet_text {
	uint64_t start; /* the first 8 bytes, which order most texts */
	uint32_t at, len; /* in bytes */
};

struct parquet_column {
	struct parquet_column_def def;
	struct parquet_cells cells; /* owned; the values of texts are their numbers */
	struct parquet_text *texts; /* owned: the different texts of the row group */
	size_t n_texts, cap_texts;
	struct strbuf bytes, clean; /* of the texts; of one that is not UTF-8 */
	uint32_t *slots; /* owned: of texts, by open addressing; number + 1, 0 is empty */
	uint32_t n_slots; /* a power of two, of which at least half are empty */
	uint32_t guesses[PARQUET_TEXT_GUESSES]; /* the number of the last text at an address */
	bool failed; /* out of memory */
};

/* Allocates the cells, unless there are some. Returns false if out of memory at any time. */
bool parquet_column_reserve(struct parquet_column *c);
/* Returns the number of a text, which is copied if it is new. If out of memory, sets c->failed and
 * returns 0. */
uint32_t parquet_column_number_text(struct parquet_column *c, const char *s, size_t len);
/* Removes all values and texts. */
void parquet_column_clear(struct parquet_column *c);
void parquet_column_deinit(struct parquet_column *c);

/* Returns the range of n values; joins two ranges of the column. */
struct parquet_range parquet_column_find_range(const struct parquet_column *c,
					       const uint64_t *values, size_t n);
void parquet_column_join_range(const struct parquet_column *c, struct parquet_range *r,
			       const struct parquet_range *by);
/* Appends a range if a reader may trust it: texts are short, and a zero has the sign with which it
 * includes the other zero. Returns false if it is left out. */
bool parquet_column_put_range(const struct parquet_column *c, struct parquet_range r,
			      struct strbuf *least, struct strbuf *most);

/* Append values as PLAIN has them; statistics have texts without their length. */
void parquet_column_put_plain(const struct parquet_column *c, uint64_t value, bool with_length,
			      struct strbuf *to);
void parquet_column_put_texts(const struct parquet_column *c, const uint64_t *numbers, size_t n,
			      bool with_length, struct strbuf *to);
