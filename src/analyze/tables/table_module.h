/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "analyze/store/store.h"

/* Add virtual tables, functions or views to a database. They return an SQLite result code. The
 * database must be closed before the store is freed. */
int table_module_register(sqlite3 *db, struct store *s);
int args_module_register(sqlite3 *db, struct store *s);
int slice_walk_register(sqlite3 *db, struct store *s);
int flow_walk_register(sqlite3 *db, struct store *s);
int sql_functions_register(sqlite3 *db, struct store *s);
int text_functions_register(sqlite3 *db);
int aggregates_register(sqlite3 *db);
int stack_functions_register(sqlite3 *db);
int span_join_register(sqlite3 *db);

/* The texts of views.sql, of the modules in src/analyze/modules, and an element without a name. */
extern const struct sql_text {
	const char *name;
	const char *sql;
} sql_texts[];

/* Makes a value the result of a function or column. Its text must be valid as long as the store. */
void table_module_set_result(sqlite3_context *ctx, const struct value *v);
