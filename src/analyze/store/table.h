/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/budget.h"
#include "analyze/store/table_chunk.h"

/*
 * Columns of integers in memory. A table has chunks of 4096 rows, with an array for each column:
 *
 *	chunk 0   ts ts ts ... | dur dur dur ... | utid utid utid ...
 *
 * Full chunks are packed (table_chunk.h), except the last full one, whose rows still change. Rows
 * are only appended. A time stamp takes 4 bytes: the list of epochs has its upper half, once for
 * each run of rows that share it (4.3 s). A duration takes 4 bytes as well; a hash has longer ones
 * by row. Strings are ids of struct strings.
 *
 * If out of memory, a table sets budget->error, and table_append() returns the last row again, or
 * 0.
 */

#define TABLE_MAX_ROWS (UINT32_MAX - 16)
#define NULL_U32 UINT32_MAX
#define NULL_U16 UINT16_MAX
#define NULL_U8 UINT8_MAX
#define NULL_I64 INT64_MIN

enum column_kind {
	COLUMN_ID, /* the row's number; not stored */
	COLUMN_TS,
	COLUMN_DUR, /* -1: open */
	COLUMN_I64, /* NULL_I64 is NULL; NULL_U32, NULL_U16 and NULL_U8 in the other kinds */
	COLUMN_I32, /* never NULL */
	COLUMN_U32,
	COLUMN_U16,
	COLUMN_U8,
	COLUMN_F64, /* never NULL */
	COLUMN_STRING, /* 32 bits: a string's id */
	COLUMN_STATE, /* 16 bits: index of the string in store.states */
	COLUMN_SAME, /* another name of the column `arg` */
	COLUMN_COMPUTED, /* `compute` returns the value; not stored */
};

enum value_kind { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT };

/* A value of SQL. Text is valid as long as the store, and has no NUL at its end. */
struct value {
	enum value_kind kind;
	int64_t i;
	double real;
	const char *s;
	size_t len;
};

struct store;
struct column_def {
	const char *name; /* NULL: not shown in SQL */
	enum column_kind kind;
	uint8_t arg; /* SAME: a column; COMPUTED: 1 if the value is text, else 0 */
	void (*compute)(const struct store *s, uint32_t row, struct value *ret);
	uint8_t of; /* COMPUTED: the 16-bit column that alone decides the value; 0: none */
};

struct table_def {
	const char *name; /* NULL: not shown in SQL */
	const struct column_def *columns;
	uint8_t n_columns;
	uint8_t ts; /* the COLUMN_TS by which rows are sorted, unless table.unsorted; 0: none */
};

struct epoch;
struct long_duration;

/* table_write_image() writes every member but those that are made from others. */
struct table {
	const struct table_def *def;
	struct budget *budget;
	struct table_chunk **chunks; /* owned */
	size_t n_chunks, cap_chunks;
	uint32_t rows;
	bool unsorted; /* some time stamp is lower than the one before it */
	int64_t last_ts;
	uint8_t widths[TABLE_MAX_COLUMNS]; /* of a cell in a chunk that is not packed */
	struct epoch *epochs; /* owned */
	size_t n_epochs, cap_epochs;
	struct long_duration *longs; /* owned hash */
	struct row_index *indexes[TABLE_MAX_COLUMNS]; /* owned */
	struct row_order {
		uint32_t *rows; /* owned */
		uint32_t n_rows; /* rows of the table when the order was made */
	} orders[TABLE_MAX_COLUMNS]; /* made by table_module.c */
};

void table_init(struct table *t, const struct table_def *def, struct budget *budget);
void table_deinit(struct table *t);

/* Appends a row and returns its number. Its cells are undefined until they are set. */
uint32_t table_append(struct table *t);

static inline uint64_t table_cell(const struct table *t, unsigned column, uint32_t row)
{
	return chunk_cell(t->chunks[row >> TABLE_CHUNK_BITS], column, row & (TABLE_CHUNK_ROWS - 1));
}

/* Sets a cell of a packed chunk. Makes the column wider in this chunk if the value does not fit. */
void table_set_packed(struct table *t, unsigned column, uint32_t row, uint64_t v);

/* Reads and sets a cell. The type must have the column's width. */
#define TABLE_ACCESS(name, type, unsigned_type)                                                    \
	static inline type table_##name(const struct table *t, unsigned column, uint32_t row)      \
	{                                                                                          \
		return (type)table_cell(t, column, row);                                           \
	}                                                                                          \
                                                                                                   \
	static inline void table_set_##name(struct table *t, unsigned column, uint32_t row,        \
					    type v)                                                \
	{                                                                                          \
		struct table_chunk *k = t->chunks[row >> TABLE_CHUNK_BITS];                        \
                                                                                                   \
		if (k->packed)                                                                     \
			table_set_packed(t, column, row, (unsigned_type)v);                        \
		else                                                                               \
			memcpy(chunk_cell_address(k, column, row &(TABLE_CHUNK_ROWS - 1)), &v,     \
			       sizeof(v));                                                         \
	}

TABLE_ACCESS(u8, uint8_t, uint8_t)
TABLE_ACCESS(u16, uint16_t, uint16_t)
TABLE_ACCESS(u32, uint32_t, uint32_t)
TABLE_ACCESS(i32, int32_t, uint32_t)
TABLE_ACCESS(i64, int64_t, uint64_t)

double table_f64(const struct table *t, unsigned column, uint32_t row);
void table_set_f64(struct table *t, unsigned column, uint32_t row, double v);

/* Write and read times, in ns. A time can be set in the last row only. table_next_ts() is fast for
 * ascending rows: it keeps its position in *at, which must be 0 at first. A duration of -1 means
 * that the interval has no end. */
void table_set_ts(struct table *t, unsigned column, uint32_t row, int64_t ts);
int64_t table_ts(const struct table *t, unsigned column, uint32_t row);
int64_t table_next_ts(const struct table *t, unsigned column, uint32_t row, size_t *at);
void table_set_dur(struct table *t, unsigned column, uint32_t row, int64_t dur);
int64_t table_dur(const struct table *t, unsigned column, uint32_t row);

/* Reads the cells of n rows from `row` on, which are in one chunk, of a column that is stored. Each
 * is what table_ts(), table_dur(), table_i64(), ... return; NULL_U32 and the others stay as they
 * are. */
void table_read_cells(const struct table *t, unsigned column, uint32_t row, uint32_t n,
		      int64_t *ret);

/* Returns the number of rows with a time below ts. The table must be sorted (!t->unsorted). */
uint32_t table_lower_bound(const struct table *t, int64_t ts);

/* The values of an indexed column may be in two ranges: one from 0, and one from here. */
#define TABLE_HIGH_VALUES (UINT32_C(1) << 31)

/* The row numbers for each value of one column. A query that needs the index makes it. */
struct row_index {
	uint32_t *starts; /* owned: value v has rows[starts[v]] to rows[starts[v + 1] - 1] */
	uint32_t *rows; /* owned; ascending for each value */
	uint32_t n_values; /* entries of starts, less one; n_high of them are high values */
	uint32_t n_high; /* values from TABLE_HIGH_VALUES on; starts has them after the others */
	uint32_t n_rows; /* rows of the table when the index was made */
};

/* Returns the index of a 32-bit column, valid until rows are added. NULL: out of memory, or the
 * values are so sparse that the index would be larger than the column. */
const struct row_index *table_index(struct table *t, unsigned column);
/* The same, but for a column of row numbers of a table with n_rows rows. NULL: out of memory. */
const struct row_index *table_index_of_rows(struct table *t, unsigned column, uint32_t n_rows);

/* Sets the range of x->rows for a value; it may be empty. Returns false if there is no range. */
bool row_index_find(const struct row_index *x, int64_t v, uint32_t *ret_begin, uint32_t *ret_end);

/* Writes the table as bytes, and reads them into an empty table of the same definition, with a
 * check of all lengths. Returns 0, -EBADMSG, -ENOMEM or -EFBIG. */
struct image_writer;
struct image_reader;
void table_write_image(const struct table *t, struct image_writer *w);
int table_read_image(struct table *t, struct image_reader *r);
