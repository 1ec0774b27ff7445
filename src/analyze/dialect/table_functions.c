/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function that returns a table is a virtual table that exists without a CREATE statement. Its
 * arguments are hidden columns after the others, so that f(1, 2) and WHERE $a = 1 are the same. A
 * cursor owns the statement.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analyze/dialect/functions.h"
#include "analyze/tables/vtab.h"
#include "base/core/mem.h"
#include "base/text/str.h"

struct table_function {
	struct functions *all; /* borrowed */
	struct function_head head;
	char *sql; /* owned */
};

struct table_function_vtab {
	struct vtab base;
	const struct table_function *f; /* borrowed: SQLite frees it after the vtab */
};

struct table_function_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *st; /* owned; NULL before the first use */
	sqlite3_value **args; /* owned copies, as many as there are arguments; NULL before the first
			       * use */
	sqlite3_int64 row;
	bool at_end;
};

static const struct table_function *get_cursor_function(const sqlite3_vtab_cursor *c)
{
	return ((const struct table_function_vtab *)c->pVtab)->f;
}

static void table_function_free(void *p)
{
	struct table_function *f = p;

	function_head_deinit(&f->head);
	free(f->sql);
	free(f);
}

static void free_arguments(struct table_function_cursor *c)
{
	for (size_t i = 0; c->args && i < get_cursor_function(&c->base)->head.args.n; i++)
		sqlite3_value_free(c->args[i]);
	freep(&c->args);
}

static void table_function_deinit_cursor(sqlite3_vtab_cursor *base)
{
	struct table_function_cursor *c = (struct table_function_cursor *)base;

	free_arguments(c);
	sqlite3_finalize(c->st);
}

static int table_function_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
				  sqlite3_vtab **ret, char **error)
{
	struct table_function_vtab *v = vtab_new(sizeof(*v), sizeof(struct table_function_cursor));
	const struct table_function *f = aux;
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->base.deinit_cursor = table_function_deinit_cursor;
	v->f = f;
	strbuf_puts(&sql, "CREATE TABLE t(");
	for (size_t i = 0; i < f->head.columns.n; i++)
		strbuf_printf(&sql, "%s\"%s\" %s", i ? "," : "", f->head.columns.v[i].name,
			      sql_type_name(f->head.columns.v[i].type));
	/* A dollar keeps an argument apart from a column of the same name. */
	for (size_t i = 0; i < f->head.args.n; i++)
		strbuf_printf(&sql, ",\"$%s\" HIDDEN", f->head.args.v[i].name);
	strbuf_puts(&sql, ")");
	return vtab_connect(db, &v->base, &sql, ret);
}

static int table_function_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct table_function *f = ((const struct table_function_vtab *)base)->f;

	for (size_t n = 0; n < f->head.args.n; n++) {
		int unusable = 0;
		int i = vtab_find_equality(info, 0, (int)(f->head.columns.n + n), &unusable);

		if (i < 0 && unusable)
			return SQLITE_CONSTRAINT;
		if (i < 0) {
			sqlite3_free(base->zErrMsg);
			base->zErrMsg = sqlite3_mprintf("%s: missing argument %s", f->head.name,
							f->head.args.v[n].name);
			return SQLITE_ERROR;
		}
		info->aConstraintUsage[i].argvIndex = (int)n + 1;
		info->aConstraintUsage[i].omit = 1;
	}
	info->estimatedCost = 1000;
	info->estimatedRows = 100;
	return SQLITE_OK;
}

static int table_function_fail(const sqlite3_vtab_cursor *c, int code, const char *text)
{
	sqlite3_free(c->pVtab->zErrMsg);
	c->pVtab->zErrMsg = sqlite3_mprintf("%s", text);
	return code;
}

static int table_function_next(sqlite3_vtab_cursor *base)
{
	struct table_function_cursor *c = (struct table_function_cursor *)base;
	const struct table_function *f = get_cursor_function(base);
	struct err_text e;
	int r = function_step(f->all, f->head.name, c->st, &e);

	c->row++;
	c->at_end = r != SQLITE_ROW;
	return r == SQLITE_ROW || r == SQLITE_DONE ? SQLITE_OK
						   : table_function_fail(base, r, e.text);
}

static int table_function_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
				 sqlite3_value **argv)
{
	struct table_function_cursor *c = (struct table_function_cursor *)base;
	const struct table_function *f = get_cursor_function(base);
	struct err_text e;
	int r;

	free_arguments(c);
	c->row = 0;
	c->at_end = true;
	if (!c->st) {
		r = function_prepare(f->all, f->sql, &c->st);
		if (r != SQLITE_OK)
			return table_function_fail(base, r, sqlite3_errmsg(f->all->db));
	}
	sqlite3_reset(c->st);
	if (function_bind(&f->head, c->st, argv, &e) < 0)
		return table_function_fail(base, SQLITE_ERROR, e.text);
	c->args = calloc(f->head.args.n + 1, sizeof(sqlite3_value *));
	for (size_t i = 0; c->args && i < f->head.args.n; i++)
		c->args[i] = sqlite3_value_dup(argv[i]);
	return c->args ? table_function_next(base) : SQLITE_NOMEM;
}

static int table_function_at_end(sqlite3_vtab_cursor *base)
{
	return ((const struct table_function_cursor *)base)->at_end;
}

static int table_function_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct table_function_cursor *c = (const struct table_function_cursor *)base;
	size_t n_columns = get_cursor_function(base)->head.columns.n;

	if ((size_t)i < n_columns)
		sqlite3_result_value(ctx, sqlite3_column_value(c->st, i));
	else if (c->args[(size_t)i - n_columns])
		sqlite3_result_value(ctx, c->args[(size_t)i - n_columns]);
	return SQLITE_OK;
}

static int table_function_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((const struct table_function_cursor *)base)->row;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = table_function_connect,
	.xBestIndex = table_function_best_index,
	.xFilter = table_function_filter,
	.xNext = table_function_next,
	.xEof = table_function_at_end,
	.xColumn = table_function_column,
	.xRowid = table_function_rowid,
};

/* Returns 0 if the statement has the declared columns, or -EINVAL and sets e. */
static int table_function_check(struct functions *all, const struct table_function *f,
				struct err_text *e)
{
	struct err_text why;
	sqlite3_stmt *st;
	int r;

	if (function_prepare(all, f->sql, &st) != SQLITE_OK)
		return err_set(e, -EINVAL, "%s", sqlite3_errmsg(all->db));
	r = sql_columns_check(&f->head.columns, st, true, &why);
	sqlite3_finalize(st);
	return r == 0 ? 0 : err_set(e, r, "%s: %s", f->head.name, why.text);
}

/* Returns true if a virtual table or table function of this name is registered. */
static bool module_exists(sqlite3 *db, const char *name)
{
	static const char sql[] = "SELECT 1 FROM pragma_module_list WHERE name = ?1 COLLATE NOCASE";
	sqlite3_stmt *st = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC) == SQLITE_OK)
		found = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_finalize(st);
	return found;
}

int table_function_define(struct functions *all, struct function_head *h, const char *sql,
			  bool replace, struct err_text *e)
{
	struct table_function *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->all = all;
	f->head = *h;
	*h = (struct function_head){.args = {0}};
	f->sql = strdup(sql);
	if (!f->sql)
		r = err_set(e, -ENOMEM, "out of memory");
	else if (!replace && module_exists(all->db, f->head.name))
		r = err_set(e, -EINVAL,
			    "the function %s already exists; use CREATE OR REPLACE to replace it",
			    f->head.name);
	if (r == 0)
		r = table_function_check(all, f, e);
	if (r < 0)
		table_function_free(f);
	else if (sqlite3_create_module_v2(all->db, f->head.name, &module, f, table_function_free) !=
		 SQLITE_OK)
		r = err_set(e, -EINVAL, "%s", sqlite3_errmsg(all->db)); /* f is freed */
	return r;
}
