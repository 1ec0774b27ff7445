/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace's tables as Parquet files, one each. A column has the type that its table declares; for
 * the columns of views without a declared type the rows are read twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parquet/parquet_file.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "cli/export/export.h"
#include "cli/trace/out_path.h"

#define SCHEMA "1" /* version of the names and types of columns */

struct parquet_export {
	const struct trace_tables *t;
	const struct out_path *out;
	struct err_text *e;
	char *uuid, *losses; /* owned; of the trace */
};

/* ---- the types of columns ---- */

/* Finds the kind of a column without a declared type by its values. Returns 0 or -EIO. */
static int find_kind(struct parquet_export *x, const char *table, const char *column,
		     enum parquet_kind *ret)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	char *sql = sqlite3_mprintf("select max(typeof(\"%w\") in ('text', 'blob')), "
				    "max(typeof(\"%w\") = 'real') from \"%w\"",
				    column, column, table);
	int r = sql ? sqlite3_prepare_v2(x->t->db, sql, -1, &st, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (r == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		*ret = sqlite3_column_int(st, 0)   ? PARQUET_TEXT
		       : sqlite3_column_int(st, 1) ? PARQUET_REAL
						   : PARQUET_INTEGER;
		return 0;
	}
	return err_set(x->e, -EIO, "table %s: %s", table, sqlite3_errmsg(x->t->db));
}

/* Sets the columns of a statement "select * from table", and one more for the trace. Returns their
 * number, or -EIO. The names are borrowed from the statement. */
static int list_columns(struct parquet_export *x, sqlite3_stmt *st, const char *table,
			struct parquet_column_def columns[static PARQUET_COLUMNS_MAX])
{
	int n = MIN(sqlite3_column_count(st), PARQUET_COLUMNS_MAX - 1), r = 0;

	for (int i = 0; r == 0 && i < n; i++) {
		const char *type = sqlite3_column_decltype(st, i);

		columns[i].name = sqlite3_column_name(st, i);
		if (!type || !*type)
			r = find_kind(x, table, columns[i].name, &columns[i].kind);
		else
			columns[i].kind = !strcmp(type, "INTEGER") ? PARQUET_INTEGER
					  : !strcmp(type, "REAL")  ? PARQUET_REAL
								   : PARQUET_TEXT;
	}
	columns[n] = (struct parquet_column_def){.name = "trace_uuid", .kind = PARQUET_TEXT};
	return r < 0 ? r : n + 1;
}

/* ---- rows ---- */

/* Returns true if the value is null or of the column's kind. */
static bool put_column(struct parquet_file *f, sqlite3_stmt *st, int i, enum parquet_kind kind)
{
	int type = sqlite3_column_type(st, i);

	if (type == SQLITE_NULL) {
		parquet_put_null(f);
		return true;
	}
	switch (kind) {
	case PARQUET_INTEGER:
		parquet_put_integer(f, sqlite3_column_int64(st, i));
		return type == SQLITE_INTEGER;
	case PARQUET_REAL:
		parquet_put_real(f, sqlite3_column_double(st, i));
		return type == SQLITE_FLOAT || type == SQLITE_INTEGER;
	case PARQUET_TEXT:
		break;
	}
	parquet_put_text(f, (const char *)sqlite3_column_text(st, i),
			 (size_t)sqlite3_column_bytes(st, i));
	return true;
}

/* Returns the store's table of this name, NULL if its rows come by SQL. */
static const struct table *stored_table(const struct store *s, const char *name)
{
	for (size_t i = 0; i < TABLES; i++) {
		const struct table *t = &s->tables[i];

		if (t->def && t->def->name && !strcmp(t->def->name, name))
			return t;
	}
	return NULL;
}

/* The rows of a table of the store, without the way through SQL: it takes most of the time. */
static void put_stored_rows(struct parquet_export *x, struct parquet_file *f, const struct table *t)
{
	const struct table_def *def = t->def;

	for (uint32_t row = 0; row < t->rows; row++) {
		for (unsigned i = 0; i < def->n_columns; i++) {
			struct value v;

			if (!def->columns[i].name)
				continue;
			store_value(&x->t->store, t, row, i, &v);
			switch (v.kind) {
			case VALUE_NULL:
				parquet_put_null(f);
				break;
			case VALUE_INT:
				parquet_put_integer(f, v.i);
				break;
			case VALUE_REAL:
				parquet_put_real(f, v.real);
				break;
			case VALUE_TEXT:
				parquet_put_text(f, v.s, v.len);
				break;
			}
		}
		if (x->uuid)
			parquet_put_text(f, x->uuid, strlen(x->uuid));
		parquet_end_row(f);
	}
}

static int put_rows(struct parquet_export *x, struct parquet_file *f, sqlite3_stmt *st,
		    const char *table, const struct parquet_column_def *columns, int n)
{
	int step;

	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		for (int i = 0; i < n - 1; i++)
			if (!put_column(f, st, i, columns[i].kind))
				return err_set(x->e, -EINVAL,
					       "table %s: column %s has values of several types",
					       table, columns[i].name);
		if (x->uuid)
			parquet_put_text(f, x->uuid, strlen(x->uuid));
		parquet_end_row(f);
	}
	return step == SQLITE_DONE
		       ? 0
		       : err_set(x->e, -EIO, "table %s: %s", table, sqlite3_errmsg(x->t->db));
}

/* ---- files ---- */

static void add_metadata(const struct parquet_export *x, const char *table, struct parquet_file *f)
{
	char start[24];

	snprintf(start, sizeof(start), "%" PRId64, x->t->store.start_ts);
	parquet_add_metadata(f, "sonda.schema", SCHEMA);
	parquet_add_metadata(f, "sonda.version", SONDA_VERSION);
	parquet_add_metadata(f, "sonda.table", table);
	parquet_add_metadata(f, "sonda.start_ts", start);
	if (x->uuid)
		parquet_add_metadata(f, "sonda.trace_uuid", x->uuid);
	if (x->losses)
		parquet_add_metadata(f, "sonda.losses", x->losses);
}

static int write_rows(struct parquet_export *x, sqlite3_stmt *st, const char *table, FILE *to)
{
	struct parquet_column_def columns[PARQUET_COLUMNS_MAX];
	int n = list_columns(x, st, table, columns), r = 0, closed;
	const struct table *stored;
	struct parquet_file *f;

	if (n < 0)
		return n;
	f = parquet_open(to, columns, (size_t)n);
	if (!f)
		return err_set(x->e, -ENOMEM, "no memory");
	add_metadata(x, table, f);
	stored = stored_table(&x->t->store, table);
	if (stored)
		put_stored_rows(x, f, stored);
	else
		r = put_rows(x, f, st, table, columns, n);
	closed = parquet_close(f);
	if (r == 0 && closed < 0)
		r = err_set(x->e, closed, "cannot write %s: %s", x->out->path, strerror(-closed));
	return r;
}

static int write_parquet(void *ctx, const char *name, const char *sql)
{
	struct parquet_export *x = ctx;
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	char statement[160], file[80];
	int r, closed;
	FILE *to;

	if (export_is_second_name(name))
		return 0;
	snprintf(statement, sizeof(statement), "select * from \"%.64s\"", name);
	snprintf(file, sizeof(file), "%.64s.parquet", name);
	if (sqlite3_prepare_v2(x->t->db, statement, -1, &st, NULL) != SQLITE_OK)
		return err_set(x->e, -EIO, "table %s: %s", name, sqlite3_errmsg(x->t->db));
	to = out_path_open(x->out, file);
	if (!to)
		return err_set(x->e, -errno, "cannot create %s/%s: %s", x->out->path, file,
			       strerror(errno));
	r = write_rows(x, st, name, to);
	closed = out_close(to, x->out->path, x->e);
	return r < 0 ? r : closed;
}

/* Returns the one text of a statement, which the caller frees; NULL: there is none. */
static char *select_text(sqlite3 *db, const char *sql)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	const char *text = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(st, 0);
	return text ? strdup(text) : NULL;
}

int export_parquet(const struct trace_tables *t, const struct out_path *out, struct err_text *e)
{
	struct parquet_export x = {.t = t, .out = out, .e = e};
	int r;

	x.uuid = select_text(t->db, "select str_value from metadata where name = 'trace_uuid'");
	x.losses = select_text(
		t->db, "select json_group_object(name || coalesce('[' || idx || ']', ''), value) "
		       "from stats where value > 0 and severity in ('error', 'data_loss')");
	r = export_for_each_table(t->db, 't', write_parquet, &x, e);
	if (r == 0)
		r = export_for_each_table(t->db, 'v', write_parquet, &x, e);
	free(x.uuid);
	free(x.losses);
	return r;
}
