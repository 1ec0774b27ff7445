/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "analyze/dialect/sql_token.h"
#include "base/core/err.h"

/* Lists of names with types, as in "(ts TIMESTAMP, name STRING)": arguments and columns. */

#define SQL_COLUMNS_MAX 128u /* of a list; SQLite allows 127 arguments */
#define SQL_NAME_SIZE 128u /* of a name, with its NUL */

enum sql_type {
	SQL_TYPE_LONG, /* also BOOL, TIMESTAMP, DURATION, ID, ... */
	SQL_TYPE_DOUBLE,
	SQL_TYPE_STRING,
	SQL_TYPE_BYTES,
	SQL_TYPE_ANY,
};

struct sql_column {
	char name[SQL_NAME_SIZE];
	enum sql_type type;
};

struct sql_columns {
	struct sql_column *v; /* owned */
	size_t n, cap;
};

/* Reads "(name TYPE, ...)". any_type: any word is accepted as a type, as in macros. Returns 0 with
 * *ret, which the caller deinits; or -EINVAL or -ENOMEM, and sets e. */
int sql_columns_parse(struct sql_reader *r, bool any_type, struct sql_columns *ret,
		      struct err_text *e);
void sql_columns_deinit(struct sql_columns *c);

/* Reads a type, also one like JOINID(thread.id). Returns 0 or -EINVAL and sets e. */
int sql_type_parse(struct sql_reader *r, enum sql_type *ret, struct err_text *e);
/* Returns the type's name as SQLite and messages write it: "INTEGER", "REAL", ... */
const char *sql_type_name(enum sql_type type);
/* True for NULL and for values of the type. */
bool sql_type_has(enum sql_type type, sqlite3_value *v);

/* Checks that a statement returns exactly these columns, in any order; in this order if in_order is
 * set. Returns 0 or -EINVAL and sets e. */
int sql_columns_check(const struct sql_columns *c, sqlite3_stmt *st, bool in_order,
		      struct err_text *e);
