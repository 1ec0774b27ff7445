/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct long_duration {
	uint32_t row;
	int64_t dur;
	UT_hash_handle hh;
};

#define DUR_OPEN UINT32_MAX
#define DUR_LONG (UINT32_MAX - 1)

static const uint8_t width_of[] = {
	[COLUMN_TS] = 4,     [COLUMN_DUR] = 4,	 [COLUMN_I64] = 8,	[COLUMN_I32] = 4,
	[COLUMN_U32] = 4,    [COLUMN_U16] = 2,	 [COLUMN_U8] = 1,	[COLUMN_F64] = 8,
	[COLUMN_STRING] = 4, [COLUMN_STATE] = 2, [COLUMN_COMPUTED] = 0,
};

/* A chunk that nothing reads stands in for the first one that there is no memory for. */
static uint8_t spare[TABLE_CHUNK_ROWS * 8 * TABLE_MAX_COLUMNS];
static uint8_t *spare_chunks[1] = {spare};

bool budget_take(struct budget *b, uint64_t bytes)
{
	if (b->error)
		return false;
	if (bytes > b->limit || b->used > b->limit - bytes) {
		b->error = -EFBIG;
		return false;
	}
	b->used += bytes;
	return true;
}

void table_init(struct table *t, const struct table_def *def, struct budget *budget)
{
	uint32_t offset = 0;

	*t = (struct table){.def = def, .budget = budget, .last_ts = INT64_MIN};
	/* Wide columns first, so that each is aligned. */
	for (unsigned width = 8; width; width /= 2)
		for (unsigned i = 0; i < def->n_columns; i++)
			if (width_of[def->columns[i].kind] == width) {
				t->offsets[i] = offset;
				t->widths[i] = (uint8_t)width;
				offset += width * TABLE_CHUNK_ROWS;
			}
	t->chunk_bytes = offset ? offset : 1;
}

static void free_index(struct row_index *x)
{
	if (!x)
		return;
	free(x->starts);
	free(x->rows);
	free(x);
}

void table_deinit(struct table *t)
{
	struct long_duration *l, *next;

	HASH_ITER (hh, t->longs, l, next) {
		HASH_DEL(t->longs, l);
		free(l);
	}
	for (size_t i = 0; i < t->n_chunks; i++)
		free(t->chunks[i]);
	if (t->chunks != spare_chunks)
		free(t->chunks);
	free(t->epochs);
	for (size_t i = 0; i < TABLE_MAX_COLUMNS; i++)
		free_index(t->indexes[i]);
	*t = (struct table){0};
}

static bool add_chunk(struct table *t)
{
	uint8_t *chunk;

	if (!budget_take(t->budget, t->rows >= TABLE_MAX_ROWS ? UINT64_MAX : t->chunk_bytes))
		return false;
	chunk = malloc(t->chunk_bytes);
	if (!chunk ||
	    array_reserve(&t->chunks, &t->cap_chunks, t->n_chunks + 1, sizeof(*t->chunks))) {
		t->budget->error = -ENOMEM;
		free(chunk);
		return false;
	}
	t->chunks[t->n_chunks++] = chunk;
	return true;
}

uint32_t table_append(struct table *t)
{
	if ((t->rows >> TABLE_CHUNK_BITS) < t->n_chunks || add_chunk(t))
		return t->rows++;
	if (t->rows)
		return t->rows - 1;
	if (!t->chunks)
		t->chunks = spare_chunks;
	return 0;
}

void table_set_ts(struct table *t, unsigned column, uint32_t row, int64_t ts)
{
	uint32_t high = (uint32_t)((uint64_t)ts >> 32);

	if (ts < t->last_ts)
		t->unsorted = true;
	t->last_ts = ts;
	TABLE_CELL(uint32_t, t, column, row) = (uint32_t)ts;
	if (t->n_epochs && t->epochs[t->n_epochs - 1].high == high)
		return;
	if (array_reserve(&t->epochs, &t->cap_epochs, t->n_epochs + 1, sizeof(*t->epochs))) {
		t->budget->error = -ENOMEM;
		return;
	}
	if (t->n_epochs && t->epochs[t->n_epochs - 1].row == row)
		t->n_epochs--; /* the row was overwritten */
	t->epochs[t->n_epochs++] = (struct epoch){.row = row, .high = high};
}

int64_t table_ts(const struct table *t, unsigned column, uint32_t row)
{
	size_t lo = 0, hi = t->n_epochs;

	/* The last epoch that begins at or before the row. */
	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (t->epochs[mid].row <= row)
			lo = mid;
		else
			hi = mid;
	}
	return (int64_t)((uint64_t)(hi ? t->epochs[lo].high : 0) << 32 |
			 TABLE_CELL(uint32_t, t, column, row));
}

int64_t table_next_ts(const struct table *t, unsigned column, uint32_t row, size_t *at)
{
	while (*at + 1 < t->n_epochs && t->epochs[*at + 1].row <= row)
		(*at)++;
	return (int64_t)((uint64_t)(t->n_epochs ? t->epochs[*at].high : 0) << 32 |
			 TABLE_CELL(uint32_t, t, column, row));
}

void table_set_dur(struct table *t, unsigned column, uint32_t row, int64_t dur)
{
	struct long_duration *l;

	if (dur >= -1 && dur < (int64_t)DUR_LONG) {
		TABLE_CELL(uint32_t, t, column, row) = (uint32_t)dur; /* -1 is DUR_OPEN */
		return;
	}
	TABLE_CELL(uint32_t, t, column, row) = DUR_LONG;
	HASH_FIND(hh, t->longs, &row, sizeof(row), l);
	if (!l) {
		l = budget_take(t->budget, sizeof(*l)) ? malloc(sizeof(*l)) : NULL;
		if (!l)
			goto fail;
		l->row = row;
		HASH_ADD(hh, t->longs, row, sizeof(l->row), l);
		if (!l->hh.tbl) {
			free(l);
			goto fail;
		}
	}
	l->dur = dur;
	return;
fail:
	t->budget->error = t->budget->error ? t->budget->error : -ENOMEM;
}

int64_t table_dur(const struct table *t, unsigned column, uint32_t row)
{
	uint32_t v = TABLE_CELL(uint32_t, t, column, row);
	struct long_duration *l;

	if (v == DUR_OPEN)
		return -1;
	if (v != DUR_LONG)
		return v;
	HASH_FIND(hh, t->longs, &row, sizeof(row), l);
	return l ? l->dur : -1;
}

uint32_t table_lower_bound(const struct table *t, int64_t ts)
{
	uint32_t lo = 0, hi = t->rows;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (table_ts(t, t->def->ts, mid) < ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint32_t place_of(const struct row_index *x, uint32_t v)
{
	return v < TABLE_HIGH_VALUES ? v : x->n_values - x->n_high + (v - TABLE_HIGH_VALUES);
}

/* Counts the rows of each value, then gives each row its place. */
static bool fill_index(const struct table *t, unsigned column, struct row_index *x)
{
	uint32_t sum = 0, v;

	x->starts = calloc((size_t)x->n_values + 2, sizeof(*x->starts));
	x->rows = malloc(((size_t)t->rows + 1) * sizeof(*x->rows));
	if (!x->starts || !x->rows)
		return false;
	for (uint32_t row = 0; row < t->rows; row++)
		if ((v = table_u32(t, column, row)) != NULL_U32)
			x->starts[place_of(x, v)]++;
	for (v = 0; v <= x->n_values; v++) {
		uint32_t n = x->starts[v];

		x->starts[v] = sum;
		sum += n;
	}
	x->starts[x->n_values + 1] = sum;
	for (uint32_t row = 0; row < t->rows; row++)
		if ((v = table_u32(t, column, row)) != NULL_U32)
			x->rows[x->starts[place_of(x, v)]++] = row;
	/* Each start is now the end of its value, which is the start of the next. */
	memmove(x->starts + 1, x->starts, ((size_t)x->n_values + 1) * sizeof(*x->starts));
	x->starts[0] = 0;
	return true;
}

const struct row_index *table_index(struct table *t, unsigned column)
{
	struct row_index *x = t->indexes[column];
	uint32_t v;

	if (x && x->n_rows == t->rows)
		return x;
	free_index(x);
	t->indexes[column] = NULL;
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->n_rows = t->rows;
	for (uint32_t row = 0; row < t->rows; row++) {
		if ((v = table_u32(t, column, row)) == NULL_U32)
			continue;
		if (v < TABLE_HIGH_VALUES)
			x->n_values = MAX(x->n_values, v + 1);
		else
			x->n_high = MAX(x->n_high, v - TABLE_HIGH_VALUES + 1);
	}
	x->n_values += x->n_high;
	/* Values that are not dense would take more than the column itself. */
	if (x->n_values / 4 > t->rows + 65536u || !fill_index(t, column, x)) {
		free_index(x);
		return NULL;
	}
	return t->indexes[column] = x;
}

bool row_index_find(const struct row_index *x, int64_t value, uint32_t *ret_begin,
		    uint32_t *ret_end)
{
	uint32_t n_low = x->n_values - x->n_high, v;

	if (value < 0 ||
	    value >= (value < TABLE_HIGH_VALUES ? (int64_t)n_low
						: (int64_t)TABLE_HIGH_VALUES + x->n_high))
		return false;
	v = place_of(x, (uint32_t)value);
	*ret_begin = x->starts[v];
	*ret_end = x->starts[v + 1];
	return true;
}
