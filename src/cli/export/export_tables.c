/* SPDX-License-Identifier: Apache-2.0 */
/* The trace's tables as CSV and as a database of SQLite. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/export/export.h"
#include "cli/export/export_dir.h"
#include "cli/sql_output.h"
#include "cli/trace/out_path.h"

/* Does the work of export_for_each_table(), without e. The temporary views are those of the trace,
 * except sonda_tables, which lists the tables. */
static int for_each_table(sqlite3 *db, char kind,
			  int (*fn)(void *ctx, const char *name, const char *sql), void *ctx)
{
	const char *list = kind == 'v' ? "select name, sql from sqlite_temp_master where type = "
					 "'view' and name <> 'sonda_tables' order by name"
				       : "select name, null from sonda_tables order by name";
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	int r = 0, step = SQLITE_DONE;

	if (sqlite3_prepare_v2(db, list, -1, &st, NULL) != SQLITE_OK)
		return -ENOMEM;
	while (r == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);

		if (!name)
			return -ENOMEM;
		r = fn(ctx, name, (const char *)sqlite3_column_text(st, 1));
	}
	return r == 0 && step != SQLITE_DONE ? -ENOMEM : r;
}

int export_for_each_table(sqlite3 *db, char kind,
			  int (*fn)(void *ctx, const char *name, const char *sql), void *ctx,
			  struct err_text *e)
{
	err_set(e, -ENOMEM, "out of memory");
	return for_each_table(db, kind, fn, ctx);
}

/* ---- CSV ---- */

struct csv {
	sqlite3 *db;
	enum sql_format format;
	const struct export_dir *to;
	struct err_text *e;
};

bool export_is_alias(const char *name)
{
	static const char *const names[] = {"raw", "slices", "sched_slice"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return !strncmp(name, "__", 2);
}

static int write_csv(void *ctx, const char *name, const char *sql)
{
	const struct csv *c = ctx;
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	char statement[160], file[80];
	int r, closed;
	FILE *to;

	if (export_is_alias(name))
		return 0;
	snprintf(statement, sizeof(statement), "select * from \"%.64s\"", name);
	snprintf(file, sizeof(file), "%.64s.csv", name);
	to = export_dir_open(c->to, file, c->e);
	if (!to)
		return -EIO;
	r = sqlite3_prepare_v2(c->db, statement, -1, &st, NULL);
	if (r == SQLITE_OK)
		r = sql_output(st, c->format, to);
	closed = export_dir_close(c->to, file, to, c->e);
	if (closed < 0)
		return closed;
	return r == SQLITE_OK ? 0
			      : err_set(c->e, -EIO, "table %s: %s", name, sqlite3_errmsg(c->db));
}

static int write_all_csv(sqlite3 *db, enum sql_format format, const struct export_dir *to,
			 struct err_text *e)
{
	struct csv c = {.db = db, .format = format, .to = to, .e = e};
	int r = export_for_each_table(db, 't', write_csv, &c, e);

	return r < 0 ? r : export_for_each_table(db, 'v', write_csv, &c, e);
}

int export_csv(const struct trace_tables *t, const struct export_dir *to, struct err_text *e)
{
	return write_all_csv(t->db, SQL_CSV, to, e);
}

int export_csv_sheet(const struct trace_tables *t, const struct export_dir *to, struct err_text *e)
{
	return write_all_csv(t->db, SQL_CSV_SHEET, to, e);
}

/* ---- SQLite ---- */

struct copy {
	sqlite3 *db; /* has the file as schema "out" */
	sqlite3 *file; /* owned: the same file, without the trace's functions */
	char (*tables)[80]; /* owned: names of views that become tables */
	size_t n_tables, cap_tables;
	const struct out_path *out;
	struct err_text *e;
};

static int run_export_statement(struct copy *c, sqlite3 *db, const char *sql)
{
	int r = sqlite3_exec(db, sql, NULL, NULL, NULL);

	if (r == SQLITE_OK)
		return 0;
	return err_set(c->e, r == SQLITE_FULL ? -ENOSPC : -EIO, "cannot write %s: %s", c->out->path,
		       r == SQLITE_FULL ? strerror(ENOSPC) : sqlite3_errmsg(db));
}

/* Runs a statement. The arguments of format: name, column (name if it is NULL), name, column. */
static int run_statement_with_names(struct copy *c, const char *format, const char *name,
				    const char *column)
{
	char *sql = sqlite3_mprintf(format, name, column ? column : name, name, column);
	int r = sql ? run_export_statement(c, c->db, sql) : err_set(c->e, -ENOMEM, "out of memory");

	sqlite3_free(sql);
	return r;
}

/* Returns 1 if the table has the column, 0 if not, or -EIO and sets the error's text. */
static int has_column(struct copy *c, const char *table, const char *column)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	int r = sqlite3_prepare_v2(c->db, "select 1 from pragma_table_info(?1) where name = ?2", -1,
				   &st, NULL);

	if (r == SQLITE_OK) {
		sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 2, column, -1, SQLITE_STATIC);
		r = sqlite3_step(st);
	}
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return err_set(c->e, -EIO, "table %s: %s", table, sqlite3_errmsg(c->db));
	return r == SQLITE_ROW;
}

static int copy_table(void *ctx, const char *name, const char *sql)
{
	static const char *const indexed[] = {"id",  "ts",	 "utid",       "upid",
					      "cpu", "track_id", "arg_set_id", "name"};
	struct copy *c = ctx;
	int r = run_statement_with_names(c, "create table out.\"%w\" as select * from main.\"%w\"",
					 name, NULL);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(indexed); i++) {
		r = has_column(c, name, indexed[i]);
		if (r > 0)
			r = run_statement_with_names(c,
						     "create index out.\"%w_%w\" on \"%w\"(\"%w\")",
						     name, indexed[i]);
	}
	return r;
}

/* Copies a view. It stays a view if the sqlite3 program can run it; a view with functions of sonda
 * becomes a table. */
static int copy_view(void *ctx, const char *name, const char *sql)
{
	struct copy *c = ctx;
	sqlite3_stmt *st = NULL;
	char query[160];
	int r = run_export_statement(c, c->file, sql);

	if (r < 0)
		return r;
	snprintf(query, sizeof(query), "select * from \"%.64s\"", name);
	r = sqlite3_prepare_v2(c->file, query, -1, &st, NULL);
	sqlite3_finalize(st);
	if (r == SQLITE_OK)
		return 0;
	if (r == SQLITE_NOMEM)
		return err_set(c->e, -ENOMEM, "out of memory");
	if (array_reserve(&c->tables, &c->cap_tables, c->n_tables + 1, sizeof(*c->tables)))
		return err_set(c->e, -ENOMEM, "out of memory");
	snprintf(c->tables[c->n_tables++], sizeof(*c->tables), "%.64s", name);
	snprintf(query, sizeof(query), "drop view \"%.64s\"", name);
	return run_export_statement(c, c->file, query);
}

/* Returns the path unchanged as the full path. By default SQLite resolves symbolic links and opens
 * the result. Here the link is the descriptor of a directory (/proc/self/fd/N), whose target must
 * not be looked up by name again. */
static int copy_path_unresolved(sqlite3_vfs *vfs, const char *path, int size, char *ret)
{
	return snprintf(ret, (size_t)size, "%s", path) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

#define VFS_NAME "sonda-path"

static int register_vfs(void)
{
	static sqlite3_vfs vfs;

	vfs = *sqlite3_vfs_find(NULL);
	vfs.zName = VFS_NAME;
	vfs.xFullPathname = copy_path_unresolved;
	return sqlite3_vfs_register(&vfs, 0);
}

int export_sqlite(const struct trace_tables *t, const struct out_path *out, struct err_text *e)
{
	sqlite3 *db = t->db;
	struct copy c = {.db = db, .out = out, .e = e};
	char path[OUT_PATH_INSIDE_MAX], attach[OUT_PATH_INSIDE_MAX + 64];
	int r;

	if (register_vfs() != SQLITE_OK)
		return err_set(e, -ENOMEM, "out of memory");
	out_path_get_proc_path(out, path);
	snprintf(attach, sizeof(attach), "attach 'file:%s?vfs=" VFS_NAME "' as out", path);
	r = run_export_statement(&c, db, attach);
	if (r == 0)
		r = run_export_statement(
			&c, db,
			"pragma out.journal_mode = off; pragma out.synchronous = off; "
			"pragma out.locking_mode = normal");
	if (r == 0)
		r = run_export_statement(&c, db, "begin");
	if (r == 0)
		r = export_for_each_table(db, 't', copy_table, &c, e);
	if (r == 0)
		r = run_export_statement(&c, db, "commit");
	if (r == 0 && sqlite3_open_v2(path, &c.file, SQLITE_OPEN_READWRITE, VFS_NAME) != SQLITE_OK)
		r = err_set(e, -EIO, "cannot write %s: %s", out->path, sqlite3_errmsg(c.file));
	if (r == 0)
		r = run_export_statement(&c, c.file,
					 "pragma journal_mode = off; pragma synchronous = off");
	if (r == 0)
		r = export_for_each_table(db, 'v', copy_view, &c, e);
	sqlite3_close(c.file);
	for (size_t i = 0; r == 0 && i < c.n_tables; i++)
		r = run_statement_with_names(&c,
					     "create table out.\"%w\" as select * from temp.\"%w\"",
					     c.tables[i], NULL);
	free(c.tables);
	return r;
}
