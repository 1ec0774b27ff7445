/* SPDX-License-Identifier: Apache-2.0 */
/*
 * __intrinsic_table_ptr(rows) has the columns c0, c1, ... A condition maps each of them to a column
 * of the rows: __intrinsic_table_ptr_bind(c0, 'name'). A column that is not bound to a name, or is
 * bound to one that the rows do not have, is NULL.
 */
#include "analyze/row_sets/result_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/tables/vtab.h"
#include "base/core/mem.h"

#define ROWS_POINTER "sonda rows"
#define BIND_OPERATOR SQLITE_INDEX_CONSTRAINT_FUNCTION
/* The hidden column after the others: the rows. */
#define ROWS_COLUMN ((int)RESULT_COLUMNS_MAX)

struct result_cursor {
	sqlite3_vtab_cursor base;
	struct result_rows *rows; /* owned reference; NULL: no rows */
	size_t at;
	int column[RESULT_COLUMNS_MAX]; /* of the rows; -1: none */
};

/* ---- rows ---- */

struct result_rows *result_rows_new(const char *const *names)
{
	struct result_rows *rows = calloc(1, sizeof(*rows));

	for (; rows && names[rows->n_columns]; rows->n_columns++)
		snprintf(rows->names[rows->n_columns], RESULT_NAME_SIZE, "%s",
			 names[rows->n_columns]);
	if (rows)
		rows->references = 1;
	return rows;
}

void result_rows_put(void *p)
{
	struct result_rows *rows = p;

	if (!rows || --rows->references)
		return;
	for (size_t i = 0; i < rows->n_values; i++)
		sqlite3_value_free(rows->values[i]);
	free(rows->values);
	free(rows->cells);
	free(rows);
}

struct cell *result_rows_add(struct result_rows *rows)
{
	struct cell *cells;

	if (rows->n + rows->n_columns > RESULT_CELLS_MAX ||
	    array_reserve(&rows->cells, &rows->cap, rows->n + rows->n_columns,
			  sizeof(*rows->cells)))
		return NULL;
	cells = &rows->cells[rows->n];
	memset(cells, 0, rows->n_columns * sizeof(*cells));
	rows->n += rows->n_columns;
	return cells;
}

sqlite3_value *result_rows_keep(struct result_rows *rows, sqlite3_value *v)
{
	sqlite3_value *copy;

	if (array_reserve(&rows->values, &rows->values_cap, rows->n_values + 1,
			  sizeof(sqlite3_value *)))
		return NULL;
	copy = sqlite3_value_dup(v);
	if (copy)
		rows->values[rows->n_values++] = copy;
	return copy;
}

void result_rows_return(sqlite3_context *ctx, struct result_rows *rows)
{
	sqlite3_result_pointer(ctx, rows, ROWS_POINTER, result_rows_put);
}

/* ---- the table ---- */

static void result_table_deinit_cursor(sqlite3_vtab_cursor *c)
{
	result_rows_put(((struct result_cursor *)c)->rows);
}

static int result_table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
				sqlite3_vtab **ret, char **error)
{
	struct vtab *v = vtab_new(sizeof(*v), sizeof(struct result_cursor));
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->deinit_cursor = result_table_deinit_cursor;
	strbuf_puts(&sql, "CREATE TABLE t(");
	for (unsigned i = 0; i < RESULT_COLUMNS_MAX; i++)
		strbuf_printf(&sql, "c%u,", i);
	strbuf_puts(&sql, "rows HIDDEN)");
	return vtab_connect(db, v, &sql, ret);
}

/* Passes the rows and the names to the filter. The text of the plan has a character for each name:
 * 'a' for c0, and so on. */
static int result_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int unusable = 0, i = vtab_find_equality(info, 0, ROWS_COLUMN, &unusable), n = 1;
	char plan[RESULT_COLUMNS_MAX + 1];
	size_t len = 0;

	if (i < 0 && unusable)
		return SQLITE_CONSTRAINT;
	if (i < 0) {
		sqlite3_free(base->zErrMsg);
		base->zErrMsg = sqlite3_mprintf("__intrinsic_table_ptr needs a set of rows");
		return SQLITE_ERROR;
	}
	info->aConstraintUsage[i].argvIndex = n++;
	info->aConstraintUsage[i].omit = 1;
	for (i = 0; i < info->nConstraint && len < RESULT_COLUMNS_MAX; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->op != BIND_OPERATOR || c->iColumn < 0 || c->iColumn >= ROWS_COLUMN)
			continue;
		if (!c->usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].argvIndex = n++;
		info->aConstraintUsage[i].omit = 1;
		plan[len++] = (char)('a' + c->iColumn);
	}
	plan[len] = '\0';
	info->idxStr = sqlite3_mprintf("%s", plan);
	info->needToFreeIdxStr = 1;
	info->estimatedCost = 1000;
	info->estimatedRows = 1000;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int find_column(const struct result_rows *rows, const char *name)
{
	for (size_t i = 0; name && i < rows->n_columns; i++)
		if (!strcasecmp(rows->names[i], name))
			return (int)i;
	return -1;
}

static int result_table_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
			       sqlite3_value **argv)
{
	struct result_cursor *c = (struct result_cursor *)base;
	struct result_rows *rows = sqlite3_value_pointer(argv[0], ROWS_POINTER);

	if (rows)
		rows->references++;
	result_rows_put(c->rows);
	c->rows = rows;
	c->at = 0;
	for (size_t i = 0; i < RESULT_COLUMNS_MAX; i++)
		c->column[i] = -1;
	for (int i = 1; i < argc && rows; i++)
		c->column[plan[i - 1] - 'a'] =
			find_column(rows, (const char *)sqlite3_value_text(argv[i]));
	return SQLITE_OK;
}

static int result_table_next(sqlite3_vtab_cursor *base)
{
	struct result_cursor *c = (struct result_cursor *)base;

	c->at += c->rows->n_columns;
	return SQLITE_OK;
}

static int result_table_at_end(sqlite3_vtab_cursor *base)
{
	const struct result_cursor *c = (const struct result_cursor *)base;

	return !c->rows || c->at >= c->rows->n;
}

static int result_table_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct result_cursor *c = (const struct result_cursor *)base;
	const struct cell *cell;

	if (i >= ROWS_COLUMN || c->column[i] < 0)
		return SQLITE_OK;
	cell = &c->rows->cells[c->at + (size_t)c->column[i]];
	switch (cell->kind) {
	case CELL_INT:
		sqlite3_result_int64(ctx, cell->i);
		break;
	case CELL_REAL:
		sqlite3_result_double(ctx, cell->real);
		break;
	case CELL_VALUE:
		sqlite3_result_value(ctx, cell->value);
		break;
	case CELL_NULL:
		break;
	}
	return SQLITE_OK;
}

static int result_table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((const struct result_cursor *)base)->at;
	return SQLITE_OK;
}

static void bind_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_error(ctx,
			     "__intrinsic_table_ptr_bind is only for the columns of "
			     "__intrinsic_table_ptr",
			     -1);
}

static int result_table_find_function(sqlite3_vtab *v, int n_args, const char *name,
				      void (**ret)(sqlite3_context *, int, sqlite3_value **),
				      void **ret_data)
{
	if (n_args != 2 || strcasecmp(name, "__intrinsic_table_ptr_bind") != 0)
		return 0;
	*ret = bind_call;
	*ret_data = NULL;
	return BIND_OPERATOR;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = result_table_connect,
	.xBestIndex = result_table_best_index,
	.xFilter = result_table_filter,
	.xNext = result_table_next,
	.xEof = result_table_at_end,
	.xColumn = result_table_column,
	.xRowid = result_table_rowid,
	.xFindFunction = result_table_find_function,
};

int row_sets_function(sqlite3 *db, const char *name, int n_args,
		      void (*call)(sqlite3_context *, int, sqlite3_value **))
{
	return sqlite3_create_function(db, name, n_args, SQLITE_UTF8, NULL, call, NULL, NULL);
}

int row_sets_aggregate(sqlite3 *db, const char *name, int n_args,
		       void (*step)(sqlite3_context *, int, sqlite3_value **),
		       void (*final)(sqlite3_context *))
{
	return sqlite3_create_function(db, name, n_args, SQLITE_UTF8, NULL, NULL, step, final);
}

int result_rows_register(sqlite3 *db)
{
	int r = sqlite3_create_module(db, "__intrinsic_table_ptr", &module, NULL);

	return r == SQLITE_OK ? row_sets_function(db, "__intrinsic_table_ptr_bind", 2, bind_call)
			      : r;
}
