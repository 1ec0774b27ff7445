/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A column may have two ranges of values: from 0, and from here on. */
#define TABLE_HIGH_VALUES (UINT32_C(1) << 31)

/* Row numbers by value of one column, made when a query first asks for it. */
struct row_index {
	uint32_t *starts; /* owned: of value v starts[v] to starts[v + 1] in rows */
	uint32_t *rows; /* owned; ascending for each value */
	uint32_t n_values; /* with n_high */
	uint32_t n_high; /* from TABLE_HIGH_VALUES on: their starts follow those of the others */
	uint32_t n_rows; /* rows of the table when it was made */
};

/* No-op for NULL. */
void row_index_free(struct row_index *x);

/* The number of a value in starts. */
static inline uint32_t row_index_place(const struct row_index *x, uint32_t v)
{
	return v < TABLE_HIGH_VALUES ? v : x->n_values - x->n_high + (v - TABLE_HIGH_VALUES);
}

/* Sets where in x->rows the rows of a value are. Returns false if there are none. */
bool row_index_find(const struct row_index *x, int64_t v, uint32_t *ret_begin, uint32_t *ret_end);
