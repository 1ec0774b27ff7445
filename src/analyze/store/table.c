/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/image_stream.h"
#include "analyze/store/table_chunk.h"
#include "base/core/hash_table.h"
#include "base/core/lower_bound.h"
#include "base/core/mem.h"

static uint64_t mask_of_width(unsigned width)
{
	return width == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1;
}

static size_t cells_offset(size_t n_columns)
{
	return sizeof(struct table_chunk) + n_columns * sizeof(struct chunk_column);
}

/* Places the columns one after the other, wide ones first, so that columns of their own width are
 * aligned. Returns the size of the chunk in bytes. */
static size_t lay_out_columns(struct chunk_column *columns, size_t n)
{
	size_t at = cells_offset(n);

	for (unsigned width = 8; width; width--)
		for (size_t i = 0; i < n; i++)
			if (columns[i].width == width) {
				columns[i].offset = (uint32_t)at;
				at += (size_t)width * TABLE_CHUNK_ROWS;
			}
	for (size_t i = 0; i < n; i++)
		if (!columns[i].width)
			columns[i].offset = (uint32_t)at;
	return at + sizeof(uint64_t);
}

static void set_unpacked_width(struct chunk_column *c, uint8_t width)
{
	*c = (struct chunk_column){.ones = mask_of_width(width),
				   .mask = mask_of_width(width),
				   .width = width,
				   .own_width = width};
}

/* Returns the size in bytes of a chunk that is not packed, with columns of these widths. Sets up
 * the columns of k, unless it is NULL. */
static size_t chunk_layout(struct table_chunk *k, size_t n_columns, const uint8_t *own_widths)
{
	struct chunk_column columns[TABLE_MAX_COLUMNS];
	size_t size;

	for (size_t i = 0; i < n_columns; i++)
		set_unpacked_width(&columns[i], own_widths[i]);
	size = lay_out_columns(columns, n_columns);
	if (k) {
		k->packed = false;
		memcpy(k->columns, columns, n_columns * sizeof(columns[0]));
	}
	return size;
}

/* Returns the size of a chunk in bytes. */
static size_t chunk_size(const struct table_chunk *k, size_t n_columns)
{
	size_t size = cells_offset(n_columns) + sizeof(uint64_t);

	for (size_t i = 0; i < n_columns; i++)
		size += (size_t)k->columns[i].width * TABLE_CHUNK_ROWS;
	return size;
}

/* ---- packing ---- */

/* The smallest and the largest value of a column's cells, without cells of all ones. */
struct extent {
	uint64_t low, high; /* low > high: there are no values */
	bool has_ones; /* some cells have all ones */
};

/* `above` is the largest value + 1. A cell of all ones is 0 there, so it is never the largest; nor
 * is it ever the smallest, as `low` starts as all ones. */
#define EXTENT_OF(type)                                                                            \
	static struct extent extent_of_##type(const type *cells)                                   \
	{                                                                                          \
		type low = (type)-1, above = 0, ones = 0;                                          \
                                                                                                   \
		for (size_t i = 0; i < TABLE_CHUNK_ROWS; i++) {                                    \
			type next = (type)(cells[i] + 1);                                          \
                                                                                                   \
			low = cells[i] < low ? cells[i] : low;                                     \
			above = next > above ? next : above;                                       \
			ones |= next == 0;                                                         \
		}                                                                                  \
		if (!above)                                                                        \
			return (struct extent){.low = 1, .high = 0, .has_ones = true};             \
		return (struct extent){low, (type)(above - 1), ones};                              \
	}

EXTENT_OF(uint8_t)
EXTENT_OF(uint16_t)
EXTENT_OF(uint32_t)
EXTENT_OF(uint64_t)

static struct extent extent_of_cells(const struct table_chunk *k, const struct chunk_column *c)
{
	const uint8_t *cells = (const uint8_t *)k + c->offset;

	switch (c->own_width) {
	case 1:
		return extent_of_uint8_t(cells);
	case 2:
		return extent_of_uint16_t((const uint16_t *)(const void *)cells);
	case 4:
		return extent_of_uint32_t((const uint32_t *)(const void *)cells);
	default:
		return extent_of_uint64_t((const uint64_t *)(const void *)cells);
	}
}

static void set_packed_width(struct chunk_column *c, const struct extent *e)
{
	uint8_t width = 0;

	if (e->low > e->high) {
		*c = (struct chunk_column){.ones = mask_of_width(c->own_width),
					   .own_width = c->own_width};
		return;
	}
	if (e->low == e->high && !e->has_ones) {
		*c = (struct chunk_column){.ones = e->low, .own_width = c->own_width};
		return;
	}
	while (width < c->own_width && e->high - e->low >= mask_of_width(width))
		width++;
	if (width == c->own_width)
		return;
	c->base = e->low;
	c->mask = mask_of_width(width);
	c->width = width;
}

/* Writes 8 bytes for each cell; the cells that follow overwrite those beyond its width. */
#define COPY_CELLS(type)                                                                           \
	static void copy_cells_of_##type(uint8_t *to, const struct chunk_column *c,                \
					 const type *from)                                         \
	{                                                                                          \
		for (size_t i = 0; i < TABLE_CHUNK_ROWS; i++, to += c->width) {                    \
			uint64_t v = from[i] == (type)-1 ? c->mask : from[i] - c->base;            \
                                                                                                   \
			memcpy(to, &v, sizeof(v));                                                 \
		}                                                                                  \
	}

COPY_CELLS(uint8_t)
COPY_CELLS(uint16_t)
COPY_CELLS(uint32_t)
COPY_CELLS(uint64_t)

/* Not inline: where the compiler knows how large the chunk is, FORTIFY_SOURCE checks each cell. */
__attribute__((noinline)) static void copy_cells(struct table_chunk *to,
						 const struct chunk_column *c, const void *from)
{
	uint8_t *cells = (uint8_t *)to + c->offset;

	if (c->width == c->own_width)
		memcpy(cells, from, (size_t)c->width * TABLE_CHUNK_ROWS);
	else if (c->own_width == 1)
		copy_cells_of_uint8_t(cells, c, from);
	else if (c->own_width == 2)
		copy_cells_of_uint16_t(cells, c, from);
	else if (c->own_width == 4)
		copy_cells_of_uint32_t(cells, c, from);
	else
		copy_cells_of_uint64_t(cells, c, from);
}

/* Visits the columns in the order of their offsets, as COPY_CELLS writes beyond a column's end. */
#define FOR_EACH_PLACED(i, k, n)                                                                   \
	for (unsigned width_ = 8; width_; width_--)                                                \
		for (size_t i = 0; i < (n); i++)                                                   \
			if ((k)->columns[i].width == width_)

/* Returns a packed copy of a full chunk, which the caller frees, or NULL if out of memory. A column
 * whose bit is set in `open` keeps its own width if a cell of it has all ones. */
static struct table_chunk *chunk_pack(const struct table_chunk *k, size_t n_columns, uint32_t open)
{
	struct chunk_column columns[TABLE_MAX_COLUMNS];
	struct table_chunk *packed;

	for (size_t i = 0; i < n_columns; i++) {
		struct extent e;

		columns[i] = k->columns[i];
		if (!columns[i].own_width)
			continue;
		e = extent_of_cells(k, &columns[i]);
		if (!(open & (uint32_t)1 << i && e.has_ones))
			set_packed_width(&columns[i], &e);
	}
	packed = malloc(lay_out_columns(columns, n_columns));
	if (!packed)
		return NULL;
	packed->packed = true;
	packed->epoch = k->epoch;
	memcpy(packed->columns, columns, n_columns * sizeof(columns[0]));
	FOR_EACH_PLACED(i, packed, n_columns)
	copy_cells(packed, &columns[i], (const uint8_t *)k + k->columns[i].offset);
	return packed;
}

/* Returns a copy of a packed chunk in which the column has its own width, or NULL if out of memory.
 * The caller frees it. */
static struct table_chunk *chunk_widen(const struct table_chunk *k, size_t n_columns,
				       unsigned column)
{
	struct chunk_column columns[TABLE_MAX_COLUMNS];
	struct table_chunk *wide;

	memcpy(columns, k->columns, n_columns * sizeof(columns[0]));
	set_unpacked_width(&columns[column], k->columns[column].own_width);
	wide = malloc(lay_out_columns(columns, n_columns));
	if (!wide)
		return NULL;
	wide->packed = true;
	wide->epoch = k->epoch;
	memcpy(wide->columns, columns, n_columns * sizeof(columns[0]));
	for (size_t i = 0; i < n_columns; i++)
		if (i != column)
			memcpy((uint8_t *)wide + columns[i].offset,
			       (const uint8_t *)k + k->columns[i].offset,
			       (size_t)columns[i].width * TABLE_CHUNK_ROWS);
	for (uint32_t at = 0; at < TABLE_CHUNK_ROWS; at++)
		chunk_set_cell(wide, column, at, chunk_cell(k, column, at));
	return wide;
}

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

/* If there is no memory for the first chunk of a table, table_append() gives the table this chunk
 * and returns row 0, so that callers may write the row without a check. The table has no rows then,
 * and no reader uses the values. Each column has one cell, after the headers of the columns. */
static union {
	struct table_chunk chunk;
	uint64_t words[1 +
		       TABLE_MAX_COLUMNS * (sizeof(struct chunk_column) / sizeof(uint64_t) + 1) +
		       1];
} spare;
static struct table_chunk *spare_chunks[1] = {&spare.chunk};

static void init_spare_chunk(void)
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
		init_spare_chunk();
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

static bool add_time_epoch(struct table *t, uint32_t row, uint32_t high)
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
	if (!add_time_epoch(t, row, (uint32_t)((uint64_t)ts >> 32)))
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

/* Adds the upper halves of time stamps. */
static void complete_times(const struct table *t, uint32_t row, uint32_t n, int64_t *times)
{
	size_t at = t->chunks[row >> TABLE_CHUNK_BITS]->epoch;

	for (uint32_t i = 0; i < n && at < t->n_epochs; at++) {
		uint32_t end = at + 1 < t->n_epochs ? t->epochs[at + 1].row : row + n;

		for (; i < n && row + i < end; i++)
			times[i] |= (int64_t)((uint64_t)t->epochs[at].high << 32);
	}
}

void table_read_cells(const struct table *t, unsigned column, uint32_t row, uint32_t n,
		      int64_t *ret)
{
	const struct table_chunk *k = t->chunks[row >> TABLE_CHUNK_BITS];
	struct chunk_column c = k->columns[column];
	const uint8_t *at =
		(const uint8_t *)k + c.offset + (size_t)(row & (TABLE_CHUNK_ROWS - 1)) * c.width;
	enum column_kind kind = t->def->columns[column].kind;
	uint64_t own = mask_of_width(c.own_width), v;

	for (uint32_t i = 0; i < n; i++, at += c.width) {
		memcpy(&v, at, sizeof(v));
		v &= c.mask;
		ret[i] = (int64_t)((v == c.mask ? c.ones : c.base + v) & own);
	}
	if (kind == COLUMN_TS)
		complete_times(t, row, n, ret);
	for (uint32_t i = 0; kind == COLUMN_DUR && i < n; i++)
		if (ret[i] >= (int64_t)DUR_LONG)
			ret[i] = table_dur(t, column, row + i);
	for (uint32_t i = 0; kind == COLUMN_I32 && i < n; i++)
		ret[i] = (int32_t)ret[i];
}

uint32_t table_lower_bound(const struct table *t, int64_t ts)
{
	return LOWER_BOUND(i, 0, t->rows, table_ts(t, t->def->ts, i) < ts);
}

/* Returns the index of a value in x->starts. */
static uint32_t row_index_slot(const struct row_index *x, uint32_t v)
{
	return v < TABLE_HIGH_VALUES ? v : x->n_values - x->n_high + (v - TABLE_HIGH_VALUES);
}

/* Counts the rows of each value, then stores each row among those of its value. Returns false if
 * out of memory. */
static bool fill_row_index(const struct table *t, unsigned column, struct row_index *x)
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
	return table_index_of_rows(t, column, 0);
}

const struct row_index *table_index_of_rows(struct table *t, unsigned column, uint32_t n_rows)
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
	if ((x->n_values > n_rows && x->n_values / 4 > t->rows + 65536u) ||
	    !fill_row_index(t, column, x)) {
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

/* ---- images ---- */

void table_write_image(const struct table *t, struct image_writer *w)
{
	uint64_t n_chunks = t->rows ? t->n_chunks : 0, n_epochs = t->n_epochs;
	uint64_t n_longs = HASH_COUNT(t->longs);

	image_write(w, &t->rows, sizeof(t->rows));
	image_write(w, &t->unsorted, sizeof(t->unsorted));
	image_write(w, &t->last_ts, sizeof(t->last_ts));
	image_write(w, &n_epochs, sizeof(n_epochs));
	image_write(w, t->epochs, t->n_epochs * sizeof(*t->epochs));
	image_write(w, &n_longs, sizeof(n_longs));
	for (const struct long_duration *l = t->longs; l; l = l->hh.next) {
		image_write(w, &l->row, sizeof(l->row));
		image_write(w, &l->dur, sizeof(l->dur));
	}
	image_write(w, &n_chunks, sizeof(n_chunks));
	for (size_t i = 0; i < n_chunks; i++) {
		uint64_t size = chunk_size(t->chunks[i], t->def->n_columns);

		image_write(w, &size, sizeof(size));
		image_write(w, t->chunks[i], size);
	}
}

/* Returns true if the columns of a chunk of this size are inside it. */
static bool chunk_is_valid(const struct table_chunk *k, size_t size, const struct table *t)
{
	size_t n = t->def->n_columns;

	if (chunk_size(k, n) != size || (t->n_epochs && k->epoch >= t->n_epochs))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct chunk_column *c = &k->columns[i];

		if (c->width > sizeof(uint64_t) || c->own_width != t->widths[i] ||
		    c->offset < cells_offset(n) ||
		    c->offset + (size_t)c->width * TABLE_CHUNK_ROWS + sizeof(uint64_t) > size)
			return false;
	}
	return true;
}

static struct table_chunk *read_chunk(struct table *t, struct image_reader *r)
{
	size_t size = image_read_count(r, 1);
	struct table_chunk *k = NULL;

	if (size >= cells_offset(t->def->n_columns))
		k = budget_charge(t->budget, size) ? malloc(size) : NULL;
	if (!k)
		return NULL;
	image_read(r, k, size);
	if (chunk_is_valid(k, size, t))
		return k;
	free(k);
	return NULL;
}

static bool read_longs(struct table *t, struct image_reader *r)
{
	size_t n = image_read_count(r, sizeof(uint32_t) + sizeof(int64_t));

	for (size_t i = 0; i < n; i++) {
		struct long_duration *l = budget_alloc(t->budget, sizeof(*l));

		if (!l)
			return false;
		image_read(r, &l->row, sizeof(l->row));
		image_read(r, &l->dur, sizeof(l->dur));
		if (!BUDGET_HASH_ADD(t->budget, t->longs, row, l))
			return false;
	}
	return true;
}

int table_read_image(struct table *t, struct image_reader *r)
{
	uint8_t unsorted;
	uint32_t rows;
	size_t n;

	image_read(r, &rows, sizeof(rows));
	image_read(r, &unsorted, sizeof(unsorted));
	image_read(r, &t->last_ts, sizeof(t->last_ts));
	t->unsorted = unsorted != 0;
	n = image_read_count(r, sizeof(*t->epochs));
	if (n) {
		t->epochs = budget_alloc(t->budget, n * sizeof(*t->epochs));
		if (!t->epochs)
			return t->budget->error;
		image_read(r, t->epochs, n * sizeof(*t->epochs));
		t->n_epochs = t->cap_epochs = n;
	}
	if (!read_longs(t, r))
		return t->budget->error;
	n = image_read_count(r, sizeof(uint64_t));
	if (n != (rows + (uint64_t)TABLE_CHUNK_ROWS - 1) / TABLE_CHUNK_ROWS)
		return -EBADMSG;
	if (array_reserve(&t->chunks, &t->cap_chunks, n, sizeof(*t->chunks)))
		return -ENOMEM;
	while (t->n_chunks < n) {
		struct table_chunk *k = read_chunk(t, r);

		if (!k)
			return -EBADMSG;
		t->chunks[t->n_chunks++] = k;
	}
	t->rows = rows;
	return 0;
}
