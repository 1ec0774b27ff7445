/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows that a function computed, to be read by __intrinsic_table_ptr. */

#define RESULT_COLUMNS_MAX 20u
#define RESULT_CELLS_MAX (UINT64_C(1) << 26) /* 1 GiB */
#define RESULT_NAME_SIZE 64u

struct cell {
	enum cell_kind {
		CELL_NULL,
		CELL_INT,
		CELL_REAL,
		CELL_VALUE,
	} kind;
	union {
		int64_t i;
		double real;
		sqlite3_value *value; /* borrowed from result_rows.values */
	};
};

struct result_rows {
	char names[RESULT_COLUMNS_MAX][RESULT_NAME_SIZE];
	size_t n_columns;
	struct cell *cells; /* owned; n_columns for each row */
	size_t n, cap; /* of cells */
	sqlite3_value **values; /* owned: those that cells refer to */
	size_t n_values, values_cap;
	unsigned references;
};

/* Makes an object without rows, with one reference. names: of the columns, ended by NULL. Returns
 * NULL if out of memory. */
struct result_rows *result_rows_new(const char *const *names);
/* Drops a reference, and frees the rows with the last one. NULL is allowed. */
void result_rows_put(void *rows);
/* Returns the cells of a new row, which are NULL; NULL if out of memory or above
 * RESULT_CELLS_MAX. */
struct cell *result_rows_add(struct result_rows *rows);
/* Keeps a copy of a value, as long as the rows. Returns NULL if out of memory. */
sqlite3_value *result_rows_keep(struct result_rows *rows, sqlite3_value *v);
/* Makes the rows the result of a function, and takes over the caller's reference. */
void result_rows_return(sqlite3_context *ctx, struct result_rows *rows);

int result_rows_register(sqlite3 *db);

/* Registers a function or an aggregate. Returns an SQLite result code. */
int row_sets_function(sqlite3 *db, const char *name, int n_args,
		      void (*call)(sqlite3_context *, int, sqlite3_value **));
int row_sets_aggregate(sqlite3 *db, const char *name, int n_args,
		       void (*step)(sqlite3_context *, int, sqlite3_value **),
		       void (*final)(sqlite3_context *));

int graph_functions_register(sqlite3 *db);
int interval_functions_register(sqlite3 *db);
int counter_functions_register(sqlite3 *db);
