/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/row_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

/* Equal keys have equal values: a cell of the column, or of the column that decides its value. The
 * key of NULL_U32 and NULL_U16 is 0. */
struct keys {
	const struct table *t;
	unsigned column;
	bool narrow; /* 16 bits */
};

/* One row of each key. */
struct sample {
	struct value value;
	uint32_t key;
};

bool row_order_is_possible(const struct table *t, unsigned column)
{
	const struct column_def *c = &t->def->columns[column];

	return c->kind == COLUMN_U32 || c->kind == COLUMN_STRING || c->kind == COLUMN_STATE ||
	       (c->kind == COLUMN_COMPUTED && c->of);
}

static struct keys keys_of(const struct table *t, unsigned column)
{
	const struct column_def *c = &t->def->columns[column];

	return (struct keys){
		.t = t,
		.column = c->kind == COLUMN_COMPUTED ? c->of : column,
		.narrow = c->kind == COLUMN_COMPUTED || c->kind == COLUMN_STATE,
	};
}

static uint32_t row_order_key_of(const struct keys *k, uint32_t row)
{
	if (k->narrow)
		return (uint16_t)(table_u16(k->t, k->column, row) + 1u);
	return table_u32(k->t, k->column, row) + 1;
}

static int row_order_compare(const struct value *a, const struct value *b)
{
	int r;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == VALUE_INT)
		return (a->i > b->i) - (a->i < b->i);
	if (a->kind != VALUE_TEXT)
		return 0;
	r = memcmp(a->s, b->s, MIN(a->len, b->len));
	return r ? r : (a->len > b->len) - (a->len < b->len);
}

static int row_order_by_value(const void *a, const void *b)
{
	return row_order_compare(&((const struct sample *)a)->value,
				 &((const struct sample *)b)->value);
}

/* Counts the rows of each key, and takes a sample of each. Returns how many keys there are, or 0
 * without memory. */
static size_t take_samples(const struct store *s, const struct keys *k, unsigned column,
			   uint32_t *counts, struct sample **ret)
{
	struct sample *list = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t row = 0; row < k->t->rows; row++) {
		uint32_t key = row_order_key_of(k, row);

		if (counts[key]++)
			continue;
		if (array_reserve(&list, &cap, n + 1, sizeof(*list))) {
			free(list);
			return 0;
		}
		list[n] = (struct sample){.key = key};
		store_value(s, k->t, row, column, &list[n++].value);
	}
	qsort(list, n, sizeof(*list), row_order_by_value);
	*ret = list;
	return n;
}

/* Keys with the same value share a slot, so that their rows ascend. slot: by key; at first the
 * number of its rows, then the number of its slot. next: by slot, the index of its next row. */
static void set_slots(const struct sample *list, size_t n, uint32_t *slot, uint32_t *next)
{
	uint32_t sum = 0, number = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t rows = slot[list[i].key];

		if (i && row_order_compare(&list[i - 1].value, &list[i].value) != 0)
			number++;
		if (!i || row_order_compare(&list[i - 1].value, &list[i].value) != 0)
			next[number] = sum;
		slot[list[i].key] = number;
		sum += rows;
	}
}

static uint32_t *make_order(const struct store *s, const struct keys *k, unsigned column,
			    size_t n_keys)
{
	_cleanup_(freep) uint32_t *slot = calloc(n_keys, sizeof(*slot));
	_cleanup_(freep) struct sample *list = NULL;
	_cleanup_(freep) uint32_t *next = NULL;
	uint32_t *rows = NULL;
	size_t n = slot ? take_samples(s, k, column, slot, &list) : 0;

	next = n ? malloc(n * sizeof(*next)) : NULL;
	rows = next ? malloc((size_t)k->t->rows * sizeof(*rows)) : NULL;
	if (!rows)
		return NULL;
	set_slots(list, n, slot, next);
	for (uint32_t row = 0; row < k->t->rows; row++)
		rows[next[slot[row_order_key_of(k, row)]]++] = row;
	return rows;
}

const uint32_t *row_order(const struct store *s, struct table *t, unsigned column)
{
	struct row_order *o = &t->orders[column];
	struct keys k = keys_of(t, column);
	size_t n_keys = 1;

	if (o->rows && o->n_rows == t->rows)
		return o->rows;
	freep(&o->rows);
	for (uint32_t row = 0; row < t->rows; row++)
		n_keys = MAX(n_keys, (size_t)row_order_key_of(&k, row) + 1);
	/* With sparse keys, the counts would take more memory than the column itself. */
	if (!t->rows || n_keys / 4 > (size_t)t->rows + 65536u)
		return NULL;
	o->n_rows = t->rows;
	return o->rows = make_order(s, &k, column, n_keys);
}
