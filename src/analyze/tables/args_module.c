/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual table `args`. */
#include "analyze/tables/arg_rows.h"
#include "analyze/tables/table_module.h"
#include "analyze/tables/vtab.h"

/* How rows are found: PLAN_SET lists the arguments of a set, PLAN_ID those of the set that has the
 * argument with an id. */
enum args_plan { PLAN_ALL, PLAN_SET, PLAN_ID };

struct args_vtab {
	struct vtab base;
	struct store *store;
};

struct args_cursor {
	sqlite3_vtab_cursor base;
	struct arg_rows rows;
	bool one; /* no further set follows */
};

static void args_module_deinit_cursor(sqlite3_vtab_cursor *c)
{
	arg_rows_deinit(&((struct args_cursor *)c)->rows);
}

static int args_module_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			       sqlite3_vtab **ret, char **error)
{
	struct args_vtab *v = vtab_new(sizeof(*v), sizeof(struct args_cursor));
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->store = aux;
	v->base.deinit_cursor = args_module_deinit_cursor;
	strbuf_puts(&sql, "CREATE TABLE t(id INTEGER, arg_set_id INTEGER, flat_key TEXT, key TEXT,"
			  "int_value INTEGER, string_value TEXT, real_value REAL, value_type TEXT,"
			  "display_value TEXT)");
	return vtab_connect(db, &v->base, &sql, ret);
}

static int args_module_best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	int by_set = vtab_find_equality(info, 0, ARG_COLUMN_SET, NULL),
	    by_id = vtab_find_equality(info, 0, ARG_COLUMN_ID, NULL);
	int i = by_set >= 0 ? by_set : by_id;

	info->estimatedCost = 1e7;
	if (i < 0)
		return SQLITE_OK;
	info->aConstraintUsage[i].argvIndex = 1;
	info->idxNum = by_set >= 0 ? PLAN_SET : PLAN_ID;
	info->estimatedCost = 5;
	info->estimatedRows = 5;
	return SQLITE_OK;
}

static int args_module_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			      sqlite3_value **argv)
{
	struct args_cursor *c = (struct args_cursor *)base;
	const struct store *s = ((const struct args_vtab *)base->pVtab)->store;
	int64_t id;
	int r;

	c->rows.store = s;
	c->one = plan && sqlite3_value_type(argv[0]) != SQLITE_FLOAT &&
		 sqlite3_value_type(argv[0]) != SQLITE_TEXT;
	if (!c->one) {
		r = arg_rows_begin(&c->rows);
	} else if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER) {
		c->rows.done = true;
		r = 0;
	} else {
		id = sqlite3_value_int64(argv[0]);
		r = arg_rows_begin_set(&c->rows, plan == PLAN_ID ? arg_rows_find_set(s, id) : id);
	}
	return r < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

static int args_module_next(sqlite3_vtab_cursor *base)
{
	struct args_cursor *c = (struct args_cursor *)base;

	if (!c->one)
		return arg_rows_next(&c->rows) < 0 ? SQLITE_NOMEM : SQLITE_OK;
	c->rows.done = ++c->rows.at >= c->rows.list.n;
	return SQLITE_OK;
}

static int args_module_at_end(sqlite3_vtab_cursor *base)
{
	return ((const struct args_cursor *)base)->rows.done;
}

static int args_module_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct args_cursor *c = (struct args_cursor *)base;
	struct value v;

	arg_rows_value(&c->rows, (enum arg_column)i, &v);
	if (i == ARG_COLUMN_DISPLAY && v.kind == VALUE_TEXT)
		sqlite3_result_text64(ctx, v.s, v.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		table_module_set_result(ctx, &v);
	return SQLITE_OK;
}

static int args_module_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = arg_rows_id(&((const struct args_cursor *)base)->rows);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = args_module_connect,
	.xBestIndex = args_module_best_index,
	.xFilter = args_module_filter,
	.xNext = args_module_next,
	.xEof = args_module_at_end,
	.xColumn = args_module_column,
	.xRowid = args_module_rowid,
};

int args_module_register(sqlite3 *db, struct store *s)
{
	return sqlite3_create_module(db, "args", &module, s);
}
