/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/page/page_columns.h"
#include "analyze/store/store.h"

/* State that the files that fill the columns share. */

struct page {
	struct store *store;
	struct page_columns columns;
	int64_t start; /* the trace's, in its clock */
	int64_t from, to; /* the window, in the trace's clock */
	uint32_t *string_numbers; /* owned: by id of the store; the page's number + 1 */
	size_t n_string_numbers;
	uint32_t *strings; /* owned: ids of the store, by the page's number */
	size_t n_strings, cap_strings;
	uint64_t runs, states, slices, samples; /* in the page */
};

/* Rows of one group, sorted by time. */
struct row_list {
	const uint32_t *rows; /* borrowed from the index, or of `sorted` */
	uint32_t n;
	uint32_t *sorted; /* owned; NULL if the index is sorted */
};

/* Lists the rows whose column has the value and which reach into the window. dur: the column of
 * the duration, 0 if they have none. Returns 0 or -ENOMEM; the caller frees with
 * row_list_deinit(). */
int page_list_rows(const struct page *p, enum store_table table, unsigned column, uint32_t value,
		   unsigned dur, struct row_list *ret);
void row_list_deinit(struct row_list *l);

/* Returns a row + 1, or 0 for NULL_U32. */
static inline uint64_t page_plus_1(uint32_t row)
{
	return row == NULL_U32 ? 0 : (uint64_t)row + 1;
}

/* Returns the page's number of a string of the store + 1; 0 for NULL, and if out of memory, which
 * is in columns.error. */
uint32_t page_string_number(struct page *p, uint32_t id);
void page_put_string(struct page *p, enum page_column_id column, uint32_t id);

/* Fill the columns of their subject. Return 0 or -ENOMEM. */
int page_put_tasks(struct page *p);
int page_put_tracks(struct page *p);
int page_put_stacks(struct page *p);
