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
 *	chunk 1   ts ts ts ... | dur dur dur ... | utid utid utid ...
 *
 * Chunks that are full are packed (table_chunk.h), but for the last one of them, whose rows still
 * change. Rows are only appended. A time stamp takes 4 bytes: its upper half is in the list of
 * epochs, once for each run of rows that share it (4.3 s of a trace). A duration takes 4 bytes,
 * too; longer ones are in a hash by row. Strings are ids of struct strings.
 *
 * Without memory the table keeps its error in *budget and overwrites its last row (importer.h).
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
	COLUMN_I64, /* NULL_I64 is NULL; the other kinds likewise */
	COLUMN_I32, /* never NULL */
	COLUMN_U32,
	COLUMN_U16,
	COLUMN_U8,
	COLUMN_F64, /* never NULL */
	COLUMN_STRING, /* 32 bits */
	COLUMN_STATE, /* 16 bits: one of the store's states */
	COLUMN_SAME, /* another name of the column `arg` */
	COLUMN_COMPUTED, /* by the function; not stored */
};

enum value_kind { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT };

/* A value of SQL. Text is borrowed from the store, without a NUL. */
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
	uint8_t arg;
	void (*compute)(const struct store *s, uint32_t row, struct value *ret);
	uint8_t of; /* COMPUTED: the 16-bit column on which alone the value depends; 0: none */
};

struct table_def {
	const char *name; /* NULL: not shown in SQL */
	const struct column_def *columns;
	uint8_t n_columns;
	uint8_t ts; /* the column of time by which rows are sorted mostly; 0: none */
};

struct epoch;
struct long_duration;

struct table {
	const struct table_def *def;
	struct budget *budget;
	struct table_chunk **chunks; /* owned */
	size_t n_chunks, cap_chunks;
	uint32_t rows;
	bool unsorted; /* some time stamp is below the one before */
	int64_t last_ts;
	uint8_t widths[TABLE_MAX_COLUMNS]; /* of a cell in a chunk that is not packed */
	struct epoch *epochs; /* owned */
	size_t n_epochs, cap_epochs;
	struct long_duration *longs; /* owned hash */
	struct row_index *indexes[TABLE_MAX_COLUMNS]; /* owned */
};

void table_init(struct table *t, const struct table_def *def, struct budget *budget);
void table_deinit(struct table *t);

/* Appends a row of unset columns and returns its number. */
uint32_t table_append(struct table *t);

static inline uint64_t table_cell(const struct table *t, unsigned column, uint32_t row)
{
	return chunk_cell(t->chunks[row >> TABLE_CHUNK_BITS], column, row & (TABLE_CHUNK_ROWS - 1));
}

/* Sets a cell of a packed chunk, which is made wider where needed. */
void table_set_packed(struct table *t, unsigned column, uint32_t row, uint64_t v);

/* The type has the column's width. */
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
			memcpy(chunk_place(k, column, row &(TABLE_CHUNK_ROWS - 1)), &v,            \
			       sizeof(v));                                                         \
	}

TABLE_ACCESS(u8, uint8_t, uint8_t)
TABLE_ACCESS(u16, uint16_t, uint16_t)
TABLE_ACCESS(u32, uint32_t, uint32_t)
TABLE_ACCESS(i32, int32_t, uint32_t)
TABLE_ACCESS(i64, int64_t, uint64_t)

double table_f64(const struct table *t, unsigned column, uint32_t row);
void table_set_f64(struct table *t, unsigned column, uint32_t row, double v);

/* The time of a row: of the last appended row to set, of any row to read. */
void table_set_ts(struct table *t, unsigned column, uint32_t row, int64_t ts);
int64_t table_ts(const struct table *t, unsigned column, uint32_t row);
int64_t table_next_ts(const struct table *t, unsigned column, uint32_t row, size_t *at); /* up */
void table_set_dur(struct table *t, unsigned column, uint32_t row, int64_t dur);
int64_t table_dur(const struct table *t, unsigned column, uint32_t row);

/* Returns the number of rows with a time below ts. The table is sorted. */
uint32_t table_lower_bound(const struct table *t, int64_t ts);

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

/* Returns the index of a 32-bit column, or NULL if it takes too much memory. */
const struct row_index *table_index(struct table *t, unsigned column);

/* Sets where in x->rows the rows of a value are. Returns false if there are none. */
bool row_index_find(const struct row_index *x, int64_t v, uint32_t *ret_begin, uint32_t *ret_end);
