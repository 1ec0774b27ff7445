/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables and columns of columns.def: TABLE_THREAD, THREAD_UTID and so on. THREAD_COLUMNS is the
 * number of columns of that table.
 */

enum store_table {
#define TABLE(table, ...) TABLE_##table,
#define COLUMN(column, ...)
#define END(table)
#include "analyze/store/columns.def"
#undef TABLE
#undef COLUMN
#undef END
	TABLES
};

#define TABLE(...) enum {
#define COLUMN(column, ...) column,
#define END(table)                                                                                 \
	table##_COLUMNS                                                                            \
	}                                                                                          \
	;
#include "analyze/store/columns.def"
#undef TABLE
#undef COLUMN
#undef END
