/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/tables/vtab.h"

#include <stdlib.h>

void *vtab_new(size_t size, size_t cursor_size)
{
	struct vtab *t = calloc(1, size);

	if (t)
		t->cursor_size = cursor_size;
	return t;
}

int vtab_connect(sqlite3 *db, struct vtab *t, struct strbuf *sql, sqlite3_vtab **ret)
{
	int r = sql->failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql->s);

	strbuf_deinit(sql);
	if (r == SQLITE_OK)
		*ret = &t->base;
	else
		vtab_disconnect(&t->base);
	return r;
}

int vtab_disconnect(sqlite3_vtab *base)
{
	struct vtab *t = (struct vtab *)base;

	if (t->deinit)
		t->deinit(t);
	sqlite3_free(base->zErrMsg);
	free(t);
	return SQLITE_OK;
}

int vtab_open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	*ret = calloc(1, ((struct vtab *)t)->cursor_size);
	return *ret ? SQLITE_OK : SQLITE_NOMEM;
}

int vtab_close_cursor(sqlite3_vtab_cursor *c)
{
	const struct vtab *t = (const struct vtab *)c->pVtab;

	if (t->deinit_cursor)
		t->deinit_cursor(c);
	free(c);
	return SQLITE_OK;
}

int vtab_find_equality(const sqlite3_index_info *info, int i, int column, int *ret_unusable)
{
	for (; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->iColumn != column || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (c->usable)
			return i;
		if (ret_unusable)
			*ret_unusable = 1;
	}
	return -1;
}
