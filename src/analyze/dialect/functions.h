/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "analyze/dialect/sql_columns.h"
#include "base/core/err.h"

/*
 * Functions that are written in SQL: a scalar one returns the only value of its statement, one that
 * returns a table has the statement's rows. In the statement $name is the argument.
 */

/* Functions in functions, or in their statements. Each takes some KiB of the stack. */
#define FUNCTION_DEPTH_MAX 200u

struct functions {
	sqlite3 *db; /* borrowed */
	struct function *by_name; /* owned: scalar ones */
	unsigned depth; /* how many are running */
	int mistake; /* byte of the statement of the last function that could not be made; or -1 */
};

/* What a function is, without its statement. */
struct function_head {
	char name[SQL_NAME_SIZE];
	struct sql_columns args;
	struct sql_columns columns; /* if it returns a table */
};

void function_head_deinit(struct function_head *h);

/* Finalizes the statements of the functions, so that the database can be closed; it must not be used
 * in between. */
void functions_deinit(struct functions *f);

/* Makes a scalar function. Takes the content of h. Returns 0; or -EINVAL or -ENOMEM, and sets e; also
 * if a function with as many arguments is there, unless it may be replaced. */
int function_define(struct functions *f, struct function_head *h, const char *sql, bool replace,
		    struct err_text *e);
/* The same for one that returns a table. */
int table_function_define(struct functions *f, struct function_head *h, const char *sql,
			  bool replace, struct err_text *e);

/* Prepares the statement of a function, and sets f->mistake. Returns an SQLite result code. */
int function_prepare(struct functions *f, const char *sql, sqlite3_stmt **ret);
/* Binds the arguments. Returns 0, or -EINVAL and sets e. */
int function_bind(const struct function_head *h, sqlite3_stmt *st, sqlite3_value **argv,
		  struct err_text *e);
/* As sqlite3_step(); also SQLITE_ERROR, with e set, if functions are nested too deeply. */
int function_step(struct functions *f, const char *name, sqlite3_stmt *st, struct err_text *e);
