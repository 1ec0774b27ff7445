/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "analyze/dialect/sql_columns.h"
#include "base/core/err.h"

/*
 * Functions written in SQL. A scalar function returns the only value of its statement; a table
 * function returns the statement's rows. In the statement, $name stands for the argument of that
 * name.
 */

/* How deep calls of functions may nest. Each level takes some KiB of the stack. */
#define FUNCTION_DEPTH_MAX 200u

struct functions {
	sqlite3 *db; /* borrowed */
	struct function *by_name; /* owned: scalar ones */
	unsigned depth; /* how many are running */
	bool is_wrong; /* the statement of the last function could not be prepared */
	int mistake; /* where the mistake is in that statement; -1: unknown */
};

/* The declaration of a function: all but its statement. */
struct function_head {
	char name[SQL_NAME_SIZE];
	struct sql_columns args;
	struct sql_columns columns; /* of the table that it returns; none: it is scalar */
};

void function_head_deinit(struct function_head *h);

/* Frees the functions and finalizes their statements, so that the database can be closed. No
 * statement may use the functions any more. */
void functions_deinit(struct functions *f);

/* Defines a scalar function. Takes over the content of h, even on failure. Returns 0; or -EINVAL or
 * -ENOMEM, and sets e. Unless `replace` is true, an existing function with the same name and number
 * of arguments is an error. */
int function_define(struct functions *f, struct function_head *h, const char *sql, bool replace,
		    struct err_text *e);
/* Defines a function that returns a table. Unless `replace` is true, an existing virtual table or
 * table function of that name is an error, whatever its arguments. */
int table_function_define(struct functions *f, struct function_head *h, const char *sql,
			  bool replace, struct err_text *e);

/* Prepares the statement of a function, and sets f->is_wrong and f->mistake. Returns an SQLite
 * result code. */
int function_prepare(struct functions *f, const char *sql, sqlite3_stmt **ret);
/* Binds the arguments. Returns 0, or -EINVAL and sets e. */
int function_bind(const struct function_head *h, sqlite3_stmt *st, sqlite3_value **argv,
		  struct err_text *e);
/* Like sqlite3_step(); also SQLITE_ERROR, with e set, if functions are nested too deeply. */
int function_step(struct functions *f, const char *name, sqlite3_stmt *st, struct err_text *e);
