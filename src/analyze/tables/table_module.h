/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "analyze/store/store.h"

/* The virtual tables and the functions of a database. Return an SQLite result code. */
int table_module_register(sqlite3 *db, struct store *s);
int args_module_register(sqlite3 *db, struct store *s);
int slice_walk_register(sqlite3 *db, struct store *s);
int sql_functions_register(sqlite3 *db, struct store *s);
int text_functions_register(sqlite3 *db);
int sql_views_create(sqlite3 *db);

int span_join_register(sqlite3 *db);

/* sql_modules.c: includes a module (INCLUDE PERFETTO MODULE). name may end with ".*". */
bool sql_module_known(const char *name);
const char *sql_module_list(void);
int sql_module_include(sqlite3 *db, const char *name);

/* Gives SQLite a value; text stays valid as long as the store. */
void table_module_result(sqlite3_context *ctx, const struct value *v);
