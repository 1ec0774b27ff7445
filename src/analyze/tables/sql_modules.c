/* SPDX-License-Identifier: Apache-2.0 */
/* Views by the names that scripts for trace_processor use: those that are always there, and the
 * modules of its library, whose views are made when a script includes them. */
#include <string.h>

#include "analyze/tables/table_module.h"

static int run_text(sqlite3 *db, const struct sql_text *t)
{
	return sqlite3_exec(db, t->sql, NULL, NULL, NULL);
}

int sql_views_create(sqlite3 *db)
{
	return run_text(db, &sql_texts[0]);
}

static const struct sql_text *first_module(void)
{
	return &sql_texts[1];
}

/* "a.*" matches all modules of the package a. */
static bool sql_modules_matches(const struct sql_text *m, const char *name)
{
	size_t n = strlen(name);

	if (n >= 2 && !strcmp(name + n - 2, ".*"))
		return !strncmp(m->name, name, n - 1);
	return !strcmp(m->name, name);
}

bool sql_module_known(const char *name)
{
	for (const struct sql_text *m = first_module(); m->name; m++)
		if (sql_modules_matches(m, name))
			return true;
	return false;
}

void sql_module_list(struct strbuf *ret)
{
	for (const struct sql_text *m = first_module(); m->name; m++)
		strbuf_printf(ret, "%s%s", ret->len ? ", " : "", m->name);
}

int sql_module_include(sqlite3 *db, const char *name)
{
	int r = SQLITE_OK;

	for (const struct sql_text *m = first_module(); m->name && r == SQLITE_OK; m++)
		if (sql_modules_matches(m, name))
			r = run_text(db, m);
	return r;
}
