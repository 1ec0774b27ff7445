/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ancestor_slice(id) and descendant_slice(id): the slices around a slice and those inside of it, as
 * tables with the columns of __intrinsic_slice. For an id that no slice has they have no rows.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/store/columns.h"
#include "analyze/tables/table_module.h"
#include "analyze/tables/vtab.h"
#include "base/core/mem.h"
#include "base/text/str.h"

struct walk_vtab {
	struct vtab base;
	struct store *store;
	bool down;
	int n_columns; /* of the slices; the hidden column start_id, the argument, follows */
};

struct walk_cursor {
	sqlite3_vtab_cursor base;
	uint32_t *rows; /* owned; ascending */
	size_t n, cap, at;
	int64_t of; /* the argument */
};

static void slice_walk_deinit_cursor(sqlite3_vtab_cursor *c)
{
	free(((struct walk_cursor *)c)->rows);
}

static int slice_walk_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			      sqlite3_vtab **ret, char **error)
{
	struct walk_vtab *v = vtab_new(sizeof(*v), sizeof(struct walk_cursor));
	struct store *s = aux;
	const struct table_def *def = s->tables[TABLE_SLICE].def;
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->base.deinit_cursor = slice_walk_deinit_cursor;
	v->store = s;
	v->down = !strcmp(argv[0], "descendant_slice");
	v->n_columns = def->n_columns;
	strbuf_puts(&sql, "CREATE TABLE t(");
	for (int i = 0; i < v->n_columns; i++)
		strbuf_printf(&sql, "\"%s\",", def->columns[i].name);
	strbuf_puts(&sql, "start_id HIDDEN)");
	return vtab_connect(db, &v->base, &sql, ret);
}

static int slice_walk_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct walk_vtab *v = (const struct walk_vtab *)base;
	int unusable = 0, i = vtab_find_equality(info, 0, v->n_columns, &unusable);

	if (i < 0 && unusable)
		return SQLITE_CONSTRAINT;
	if (i < 0) {
		sqlite3_free(base->zErrMsg);
		base->zErrMsg = sqlite3_mprintf("%s needs the id of a slice",
						v->down ? "descendant_slice" : "ancestor_slice");
		return SQLITE_ERROR;
	}
	info->aConstraintUsage[i].argvIndex = 1;
	info->aConstraintUsage[i].omit = 1;
	info->idxNum = 1;
	info->estimatedCost = 10;
	info->estimatedRows = 10;
	return SQLITE_OK;
}

static bool slice_walk_add(struct walk_cursor *c, uint32_t row)
{
	if (array_reserve(&c->rows, &c->cap, c->n + 1, sizeof(*c->rows)))
		return false;
	c->rows[c->n++] = row;
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool walk_up(const struct table *t, struct walk_cursor *c, uint32_t row)
{
	while ((row = table_u32(t, SLICE_PARENT, row)) != NULL_U32)
		if (!slice_walk_add(c, row))
			return false;
	return true;
}

/* Adds the slices below a slice. c->rows is the result, and at the same time the queue of slices
 * whose children are still to be added. Returns false if out of memory. */
static bool walk_down(struct table *t, struct walk_cursor *c, uint32_t row)
{
	const struct row_index *children = table_index(t, SLICE_PARENT);
	uint32_t begin, end;

	if (!children)
		return false;
	for (size_t at = 0;; row = c->rows[at++]) {
		if (row_index_find(children, row, &begin, &end))
			for (; begin < end; begin++)
				if (!slice_walk_add(c, children->rows[begin]))
					return false;
		if (at == c->n)
			return true;
	}
}

static int slice_walk_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			     sqlite3_value **argv)
{
	const struct walk_vtab *v = (const struct walk_vtab *)base->pVtab;
	struct table *t = &v->store->tables[TABLE_SLICE];
	struct walk_cursor *c = (struct walk_cursor *)base;

	c->n = c->at = 0;
	c->of = sqlite3_value_int64(argv[0]);
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || c->of < 0 || c->of >= t->rows)
		return SQLITE_OK;
	if (!(v->down ? walk_down(t, c, (uint32_t)c->of) : walk_up(t, c, (uint32_t)c->of)))
		return SQLITE_NOMEM;
	if (c->n)
		qsort(c->rows, c->n, sizeof(*c->rows), compare_rows);
	return SQLITE_OK;
}

static int slice_walk_next(sqlite3_vtab_cursor *base)
{
	((struct walk_cursor *)base)->at++;
	return SQLITE_OK;
}

static int slice_walk_at_end(sqlite3_vtab_cursor *base)
{
	const struct walk_cursor *c = (const struct walk_cursor *)base;

	return c->at >= c->n;
}

static int slice_walk_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct walk_vtab *v = (const struct walk_vtab *)base->pVtab;
	const struct walk_cursor *c = (const struct walk_cursor *)base;
	struct value value;

	if (i == v->n_columns) {
		sqlite3_result_int64(ctx, c->of);
		return SQLITE_OK;
	}
	store_read_value(v->store, &v->store->tables[TABLE_SLICE], c->rows[c->at], (unsigned)i,
			 &value);
	table_module_set_result(ctx, &value);
	return SQLITE_OK;
}

static int slice_walk_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct walk_cursor *c = (const struct walk_cursor *)base;

	*ret = c->rows[c->at];
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = slice_walk_connect,
	.xBestIndex = slice_walk_best_index,
	.xFilter = slice_walk_filter,
	.xNext = slice_walk_next,
	.xEof = slice_walk_at_end,
	.xColumn = slice_walk_column,
	.xRowid = slice_walk_rowid,
};

int slice_walk_register(sqlite3 *db, struct store *s)
{
	int r = sqlite3_create_module(db, "ancestor_slice", &module, s);

	return r == SQLITE_OK ? sqlite3_create_module(db, "descendant_slice", &module, s) : r;
}
