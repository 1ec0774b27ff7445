/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a table are in the page, and the strings that they refer to. */
#include "analyze/page/page_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

static bool row_is_in_window(const struct page *p, const struct table *t, uint32_t row,
			     unsigned dur)
{
	int64_t ts = table_ts(t, t->def->ts, row), d, end;

	if (ts >= p->to && p->to != INT64_MAX)
		return false;
	if (ts >= p->from)
		return true;
	if (!dur)
		return false;
	d = table_dur(t, dur, row);
	return d < 0 || __builtin_add_overflow(ts, d, &end) || end > p->from;
}

static int compare_row_times(const void *a, const void *b, void *table)
{
	const struct table *t = table;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t tx = table_ts(t, t->def->ts, x), ty = table_ts(t, t->def->ts, y);

	return tx != ty ? (tx > ty) - (tx < ty) : (x > y) - (x < y);
}

/* Copies the rows of the window, sorted: for a part of a trace, or for a table that is not sorted.
 * Returns 0 or -ENOMEM. */
static int copy_rows_of_window(const struct page *p, struct table *t, const uint32_t *rows,
			       uint32_t n, unsigned dur, struct row_list *ret)
{
	ret->sorted = malloc(((size_t)n + 1) * sizeof(*ret->sorted));
	if (!ret->sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (row_is_in_window(p, t, rows[i], dur))
			ret->sorted[ret->n++] = rows[i];
	if (t->unsorted)
		qsort_r(ret->sorted, ret->n, sizeof(*ret->sorted), compare_row_times, t);
	ret->rows = ret->sorted;
	return 0;
}

int page_list_rows(const struct page *p, enum store_table table, unsigned column, uint32_t value,
		   unsigned dur, struct row_list *ret)
{
	struct table *t = &p->store->tables[table];
	const struct row_index *x = table_index(t, column);
	bool whole =
		p->from <= p->store->start_ts && (p->to > p->store->end_ts || p->to == INT64_MAX);

	*ret = (struct row_list){0};
	if (!x)
		return -ENOMEM;
	if (value >= x->n_values)
		return 0;
	if (!whole || t->unsorted)
		return copy_rows_of_window(p, t, x->rows + x->starts[value],
					   x->starts[value + 1] - x->starts[value], dur, ret);
	ret->rows = x->rows + x->starts[value];
	ret->n = x->starts[value + 1] - x->starts[value];
	return 0;
}

void row_list_deinit(struct row_list *l)
{
	freep(&l->sorted);
}

/* Makes room for the strings that the store has now. */
static int grow_string_numbers(struct page *p)
{
	size_t n = p->store->strings.n;
	uint32_t *numbers = reallocarray(p->string_numbers, n, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	memset(numbers + p->n_string_numbers, 0, (n - p->n_string_numbers) * sizeof(*numbers));
	p->string_numbers = numbers;
	p->n_string_numbers = n;
	return 0;
}

uint32_t page_string_number(struct page *p, uint32_t id)
{
	if (id >= p->store->strings.n)
		return 0;
	if (id >= p->n_string_numbers && grow_string_numbers(p) < 0) {
		p->columns.error = -ENOMEM;
		return 0;
	}
	if (!p->string_numbers[id]) {
		if (array_reserve(&p->strings, &p->cap_strings, p->n_strings + 1,
				  sizeof(*p->strings))) {
			p->columns.error = -ENOMEM;
			return 0;
		}
		p->strings[p->n_strings++] = id;
		p->string_numbers[id] = (uint32_t)p->n_strings;
	}
	return p->string_numbers[id];
}

void page_put_string(struct page *p, enum page_column_id column, uint32_t id)
{
	page_put(&p->columns, column, page_string_number(p, id));
}
