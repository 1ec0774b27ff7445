/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

/* A run of rows whose time stamps share the upper half. */
struct epoch {
	uint32_t row; /* the first row */
	uint32_t high;
};

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

/*
 * If there is no memory for the first chunk of a table, table_append() gives the table this chunk
 * and returns row 0, so that callers may write the row without a check. The table has no rows then,
 * and no reader uses the values. Each column has one cell, behind the headers of the columns.
 */
static union {
	struct table_chunk chunk;
	uint64_t words[1 +
		       TABLE_MAX_COLUMNS * (sizeof(struct chunk_column) / sizeof(uint64_t) + 1) +
		       1];
} spare;
static struct table_chunk *spare_chunks[1] = {&spare.chunk};

static void init_spare(void)
{
	for (size_t i = 0; i < TABLE_MAX_COLUMNS; i++)
		spare.chunk.columns[i] = (struct chunk_column){
			.mask = UINT64_MAX,
			.ones = UINT64_MAX,
			.offset = (uint32_t)(sizeof(struct table_chunk) +
					     TABLE_MAX_COLUMNS * sizeof(struct chunk_column) +
					     i * sizeof(uint64_t))};
}

void budget_fail(struct budget *b)
{
	if (!b->error)
		b->error = -ENOMEM;
}

void *budget_alloc(struct budget *b, size_t size)
{
	void *p = budget_charge(b, size) ? calloc(1, size) : NULL;

	if (!p)
		budget_fail(b);
	return p;
}

bool budget_charge(struct budget *b, uint64_t bytes)
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
	*t = (struct table){.def = def, .budget = budget, .last_ts = INT64_MIN};
	for (unsigned i = 0; i < def->n_columns; i++)
		t->widths[i] = width_of[def->columns[i].kind];
}

static void row_index_free(struct row_index *x)
{
	if (!x)
		return;
	free(x->starts);
	free(x->rows);
	free(x);
}

void table_deinit(struct table *t)
{
	HASH_FREE(t->longs);
	for (size_t i = 0; i < t->n_chunks; i++)
		free(t->chunks[i]);
	if (t->chunks != spare_chunks)
		free(t->chunks);
	free(t->epochs);
	for (size_t i = 0; i < TABLE_MAX_COLUMNS; i++)
		row_index_free(t->indexes[i]), free(t->orders[i].rows);
	*t = (struct table){0};
}

/* Puts a copy in the place of a chunk. Returns the old chunk, which the caller frees. */
static struct table_chunk *replace_chunk(struct table *t, size_t at, struct table_chunk *copy)
{
	struct table_chunk *old = t->chunks[at];

	/* This may exceed the limit: the next budget_charge() fails then. */
	t->budget->used += chunk_size(copy, t->def->n_columns);
	t->budget->used -= chunk_size(old, t->def->n_columns);
	t->chunks[at] = copy;
	return old;
}

/* Packs the last full chunk but one. Returns its old memory, which fits a new chunk, or NULL. */
static struct table_chunk *pack_chunk(struct table *t)
{
	struct table_chunk *copy;
	uint32_t open = 0;

	if (t->n_chunks < 2 || t->chunks[t->n_chunks - 2]->packed)
		return NULL;
	for (unsigned i = 0; i < t->def->n_columns; i++)
		if (t->def->columns[i].kind == COLUMN_DUR)
			open |= (uint32_t)1 << i;
	copy = chunk_pack(t->chunks[t->n_chunks - 2], t->def->n_columns, open);
	return copy ? replace_chunk(t, t->n_chunks - 2, copy) : NULL;
}

static bool add_chunk(struct table *t)
{
	size_t size = chunk_layout(NULL, t->def->n_columns, t->widths);
	struct table_chunk *chunk = pack_chunk(t);

	if (!budget_charge(t->budget, t->rows >= TABLE_MAX_ROWS ? UINT64_MAX : size))
		goto fail;
	if (!chunk)
		chunk = malloc(size);
	if (!chunk ||
	    array_reserve(&t->chunks, &t->cap_chunks, t->n_chunks + 1, sizeof(*t->chunks))) {
		t->budget->error = -ENOMEM;
		goto fail;
	}
	chunk_layout(chunk, t->def->n_columns, t->widths);
	chunk->epoch = t->n_epochs ? (uint32_t)t->n_epochs - 1 : 0;
	t->chunks[t->n_chunks++] = chunk;
	return true;
fail:
	free(chunk);
	return false;
}

void table_set_packed(struct table *t, unsigned column, uint32_t row, uint64_t v)
{
	size_t at = row >> TABLE_CHUNK_BITS;
	struct table_chunk *wide;

	if (chunk_set_cell(t->chunks[at], column, row & (TABLE_CHUNK_ROWS - 1), v))
		return;
	wide = chunk_widen(t->chunks[at], t->def->n_columns, column);
	if (!wide) {
		t->budget->error = -ENOMEM;
		return;
	}
	free(replace_chunk(t, at, wide));
	chunk_set_cell(wide, column, row & (TABLE_CHUNK_ROWS - 1), v);
}

uint32_t table_append(struct table *t)
{
	if ((t->rows >> TABLE_CHUNK_BITS) < t->n_chunks || add_chunk(t))
		return t->rows++;
	if (t->rows)
		return t->rows - 1;
	if (!t->chunks) {
		init_spare();
		t->chunks = spare_chunks;
	}
	return 0;
}

double table_f64(const struct table *t, unsigned column, uint32_t row)
{
	uint64_t bits = table_cell(t, column, row);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

void table_set_f64(struct table *t, unsigned column, uint32_t row, double v)
{
	int64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	table_set_i64(t, column, row, bits);
}

static bool add_epoch(struct table *t, uint32_t row, uint32_t high)
{
	if (t->n_epochs && t->epochs[t->n_epochs - 1].high == high)
		return true;
	if (array_reserve(&t->epochs, &t->cap_epochs, t->n_epochs + 1, sizeof(*t->epochs)))
		return false;
	if (t->n_epochs && t->epochs[t->n_epochs - 1].row == row)
		t->n_epochs--; /* the row was overwritten */
	t->epochs[t->n_epochs++] = (struct epoch){.row = row, .high = high};
	return true;
}

void table_set_ts(struct table *t, unsigned column, uint32_t row, int64_t ts)
{
	if (ts < t->last_ts)
		t->unsorted = true;
	t->last_ts = ts;
	table_set_u32(t, column, row, (uint32_t)ts);
	if (!add_epoch(t, row, (uint32_t)((uint64_t)ts >> 32)))
		t->budget->error = -ENOMEM;
	else if (!(row & (TABLE_CHUNK_ROWS - 1)))
		t->chunks[row >> TABLE_CHUNK_BITS]->epoch = (uint32_t)t->n_epochs - 1;
}

int64_t table_ts(const struct table *t, unsigned column, uint32_t row)
{
	size_t k = row >> TABLE_CHUNK_BITS, lo = t->chunks[k]->epoch, hi = t->n_epochs;

	/* Finds the last epoch that begins at or before the row: at the latest, that of the next
	 * chunk's first row. */
	if (k + 1 < t->n_chunks && t->chunks[k + 1]->epoch < hi)
		hi = (size_t)t->chunks[k + 1]->epoch + 1;
	while (hi > lo + 1) {
		size_t mid = (lo + hi) / 2;

		if (t->epochs[mid].row <= row)
			lo = mid;
		else
			hi = mid;
	}
	return (int64_t)((uint64_t)(lo < t->n_epochs ? t->epochs[lo].high : 0) << 32 |
			 table_u32(t, column, row));
}

int64_t table_next_ts(const struct table *t, unsigned column, uint32_t row, size_t *at)
{
	while (*at + 1 < t->n_epochs && t->epochs[*at + 1].row <= row)
		(*at)++;
	return (int64_t)((uint64_t)(t->n_epochs ? t->epochs[*at].high : 0) << 32 |
			 table_u32(t, column, row));
}

void table_set_dur(struct table *t, unsigned column, uint32_t row, int64_t dur)
{
	struct long_duration *l;

	if (dur >= -1 && dur < (int64_t)DUR_LONG) {
		table_set_u32(t, column, row, (uint32_t)dur); /* -1 is DUR_OPEN */
		return;
	}
	table_set_u32(t, column, row, DUR_LONG);
	HASH_FIND(hh, t->longs, &row, sizeof(row), l);
	if (!l) {
		l = budget_charge(t->budget, sizeof(*l)) ? malloc(sizeof(*l)) : NULL;
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
	uint32_t v = table_u32(t, column, row);
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

/* Returns the index of a value in x->starts. */
static uint32_t row_index_slot(const struct row_index *x, uint32_t v)
{
	return v < TABLE_HIGH_VALUES ? v : x->n_values - x->n_high + (v - TABLE_HIGH_VALUES);
}

/* Counts the rows of each value, then stores each row among those of its value. */
static bool fill_index(const struct table *t, unsigned column, struct row_index *x)
{
	uint32_t sum = 0, v;

	x->starts = calloc((size_t)x->n_values + 2, sizeof(*x->starts));
	x->rows = malloc(((size_t)t->rows + 1) * sizeof(*x->rows));
	if (!x->starts || !x->rows)
		return false;
	for (uint32_t row = 0; row < t->rows; row++)
		if ((v = table_u32(t, column, row)) != NULL_U32)
			x->starts[row_index_slot(x, v)]++;
	for (v = 0; v <= x->n_values; v++) {
		uint32_t n = x->starts[v];

		x->starts[v] = sum;
		sum += n;
	}
	x->starts[x->n_values + 1] = sum;
	for (uint32_t row = 0; row < t->rows; row++)
		if ((v = table_u32(t, column, row)) != NULL_U32)
			x->rows[x->starts[row_index_slot(x, v)]++] = row;
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
	row_index_free(x);
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
	/* With sparse values, x->starts would take more memory than the column itself. */
	if (x->n_values / 4 > t->rows + 65536u || !fill_index(t, column, x)) {
		row_index_free(x);
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
	v = row_index_slot(x, (uint32_t)value);
	*ret_begin = x->starts[v];
	*ret_end = x->starts[v + 1];
	return true;
}
