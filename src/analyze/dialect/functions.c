/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scalar function keeps the statements that it prepared: as many as it had running calls at one
 * time. The database cannot be closed before they are finalized, so struct functions owns them.
 */
#include "analyze/dialect/functions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct function {
	UT_hash_handle hh;
	struct functions *all; /* borrowed */
	struct function_head head;
	char *sql; /* owned */
	sqlite3_stmt **idle; /* owned */
	size_t n_idle, cap;
	unsigned generation; /* how often the statement was replaced */
	char key[SQL_NAME_SIZE +
		 8]; /* "name/2": functions with other numbers of arguments differ */
};

void function_head_deinit(struct function_head *h)
{
	sql_columns_deinit(&h->args);
	sql_columns_deinit(&h->columns);
}

static void function_free(struct function *f)
{
	for (size_t i = 0; i < f->n_idle; i++)
		sqlite3_finalize(f->idle[i]);
	free(f->idle);
	function_head_deinit(&f->head);
	free(f->sql);
	free(f);
}

void functions_deinit(struct functions *fs)
{
	struct function *f, *next;

	HASH_ITER (hh, fs->by_name, f, next) {
		HASH_DEL(fs->by_name, f);
		function_free(f);
	}
}

/* ---- what both kinds share ---- */

int function_prepare(struct functions *f, const char *sql, sqlite3_stmt **ret)
{
	int r = sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

	f->is_wrong = r != SQLITE_OK;
	f->mistake = f->is_wrong ? sqlite3_error_offset(f->db) : -1;
	return r;
}

static const char *value_type_name(sqlite3_value *v)
{
	static const char *const names[] = {[SQLITE_INTEGER] = "INTEGER",
					    [SQLITE_FLOAT] = "REAL",
					    [SQLITE_TEXT] = "TEXT",
					    [SQLITE_BLOB] = "BLOB",
					    [SQLITE_NULL] = "NULL"};

	return names[sqlite3_value_type(v)];
}

int function_bind(const struct function_head *h, sqlite3_stmt *st, sqlite3_value **argv,
		  struct err_text *e)
{
	char name[SQL_NAME_SIZE + 1];
	int i;

	for (size_t n = 0; n < h->args.n; n++) {
		const struct sql_column *arg = &h->args.v[n];

		if (!sql_type_has(arg->type, argv[n]))
			return err_set(e, -EINVAL, "%s: the argument '%s' is %s, not %s", h->name,
				       arg->name, value_type_name(argv[n]),
				       sql_type_name(arg->type));
		snprintf(name, sizeof(name), "$%s", arg->name);
		i = sqlite3_bind_parameter_index(st, name);
		if (i && sqlite3_bind_value(st, i, argv[n]) != SQLITE_OK)
			return err_set(e, -EINVAL, "%s: the argument '%s' is too large", h->name,
				       arg->name);
	}
	return 0;
}

int function_step(struct functions *f, const char *name, sqlite3_stmt *st, struct err_text *e)
{
	int r;

	if (f->depth == FUNCTION_DEPTH_MAX) {
		err_set(e, -EINVAL, "%s: function calls are nested more than %u deep", name,
			FUNCTION_DEPTH_MAX);
		return SQLITE_ERROR;
	}
	f->depth++;
	r = sqlite3_step(st);
	f->depth--;
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		err_set(e, -EINVAL, "%s", sqlite3_errmsg(f->db));
	return r;
}

/* ---- scalar functions ---- */

/* Sets the result to the value of the first row, or leaves it NULL if there is none. Returns
 * SQLITE_DONE, or an error with e set. */
static int run_statement(struct function *f, sqlite3_stmt *st, sqlite3_context *ctx,
			 struct err_text *e)
{
	int r = function_step(f->all, f->head.name, st, e);

	if (r != SQLITE_ROW)
		return r;
	sqlite3_result_value(ctx, sqlite3_column_value(st, 0));
	r = function_step(f->all, f->head.name, st, e);
	if (r != SQLITE_ROW)
		return r;
	err_set(e, -EINVAL, "%s: the statement returns more than one row", f->head.name);
	return SQLITE_ERROR;
}

static void function_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct function *f = sqlite3_user_data(ctx);
	unsigned generation = f->generation;
	sqlite3_stmt *st = NULL;
	struct err_text e;
	int r = SQLITE_OK;

	if (f->n_idle)
		st = f->idle[--f->n_idle];
	else
		r = function_prepare(f->all, f->sql, &st);
	if (r != SQLITE_OK)
		err_set(&e, -EINVAL, "%s: %s", f->head.name, sqlite3_errmsg(f->all->db));
	else if (function_bind(&f->head, st, argv, &e) < 0)
		r = SQLITE_ERROR;
	else
		r = run_statement(f, st, ctx, &e);
	if (r != SQLITE_DONE && r != SQLITE_ROW) {
		sqlite3_result_error(ctx, e.text, -1);
		if (r != SQLITE_ERROR)
			sqlite3_result_error_code(ctx, r);
	}
	if (!st)
		return;
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	if (f->generation != generation ||
	    array_reserve(&f->idle, &f->cap, f->n_idle + 1, sizeof(*f->idle)))
		sqlite3_finalize(st);
	else
		f->idle[f->n_idle++] = st;
}

/* Prepares a statement and discards it, so that mistakes are found when the function is defined.
 * Returns 0 or -EINVAL and sets e. */
static int function_check(struct functions *all, const char *name, const char *sql,
			  struct err_text *e)
{
	sqlite3_stmt *st;
	int n;

	if (function_prepare(all, sql, &st) != SQLITE_OK)
		return err_set(e, -EINVAL, "%s", sqlite3_errmsg(all->db));
	n = sqlite3_column_count(st);
	sqlite3_finalize(st);
	return n == 1 ? 0
		      : err_set(e, -EINVAL, "%s: the statement returns %d columns, not one", name,
				n);
}

static int function_register(struct function *f, bool removes)
{
	return sqlite3_create_function(f->all->db, f->head.name, (int)f->head.args.n, SQLITE_UTF8,
				       f, removes ? NULL : function_call, NULL, NULL);
}

/* Adds f, and owns it even on failure. f is registered before its statement is checked, because it
 * may call itself. If f then cannot be unregistered, because a statement runs (that of
 * create_function()), f stays, and each call of it fails. */
static int function_add(struct function *f, struct err_text *e)
{
	struct functions *all = f->all;
	int r;

	HASH_ADD_STR(all->by_name, key, f);
	if (!f->hh.tbl) {
		function_free(f);
		return err_set(e, -ENOMEM, "out of memory");
	}
	if (function_register(f, false) != SQLITE_OK)
		r = err_set(e, -EINVAL, "%s: %s", f->head.name, sqlite3_errmsg(all->db));
	else
		r = function_check(all, f->head.name, f->sql, e);
	if (r < 0 && function_register(f, true) == SQLITE_OK) {
		HASH_DEL(all->by_name, f);
		function_free(f);
	}
	return r;
}

/* Gives `old` the types and the statement of f, unless the statement is wrong, and frees f. SQLite
 * does not notice, so this is possible even while statements that use the function are running. */
static int function_replace(struct function *old, struct function *f, struct err_text *e)
{
	int r = function_check(f->all, f->head.name, f->sql, e);
	struct function_head head = old->head;
	char *sql = old->sql;

	if (r == 0) {
		for (size_t i = 0; i < old->n_idle; i++)
			sqlite3_finalize(old->idle[i]);
		old->n_idle = 0;
		old->generation++;
		old->head = f->head;
		old->sql = f->sql;
		f->head = head;
		f->sql = sql;
	}
	function_free(f);
	return r;
}

int function_define(struct functions *all, struct function_head *h, const char *sql, bool replace,
		    struct err_text *e)
{
	struct function *f = calloc(1, sizeof(*f)), *old;
	int r;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->all = all;
	f->head = *h;
	*h = (struct function_head){.args = {0}};
	for (char *c = f->head.name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	snprintf(f->key, sizeof(f->key), "%s/%zu", f->head.name, f->head.args.n);
	HASH_FIND_STR(all->by_name, f->key, old);
	f->sql = strdup(sql);
	if (f->sql && (!old || replace))
		return old ? function_replace(old, f, e) : function_add(f, e);
	r = !f->sql ? err_set(e, -ENOMEM, "out of memory")
		    : err_set(e, -EINVAL,
			      "the function %s already exists; use CREATE OR REPLACE to replace it",
			      f->head.name);
	function_free(f);
	return r;
}
