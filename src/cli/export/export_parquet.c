/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace's tables as Parquet files, one file per table. A column has the type that its table
 * declares; for the columns of views without a declared type the rows are read twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parquet/parquet_file.h"
#include "analyze/tables/arg_rows.h"
#include "base/core/lower_bound.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "cli/export/export.h"
#include "cli/export/export_dir.h"

#define SCHEMA "1" /* version of the names and types of columns */

/* The offset to add to times of the trace's clock, from `ts` on. */
struct realtime_offset {
	int64_t ts, offset;
};

struct parquet_export {
	const struct trace_tables *t;
	const struct export_dir *to;
	const struct parquet_choice *choice; /* NULL: all tables */
	struct err_text *e;
	char *uuid, *losses; /* owned */
	struct realtime_offset *offsets; /* owned; by ts */
	size_t n_offsets, cap_offsets;
	size_t last_offset; /* that find_realtime() used */
};

/* ---- columns that the tables do not have ---- */

/* Reads the clock snapshots of the service's machine, to which the trace's clock belongs. Returns 0
 * or -ENOMEM. */
static int read_clock_offsets(struct parquet_export *x)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	int step;

	if (sqlite3_prepare_v2(x->t->db,
			       "select ts, clock_value - ts from clock_snapshot where clock_name = "
			       "'REALTIME' and coalesce(machine_id, 0) = 0 order by ts",
			       -1, &st, NULL) != SQLITE_OK)
		return -ENOMEM;
	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		if (array_reserve(&x->offsets, &x->cap_offsets, x->n_offsets + 1,
				  sizeof(*x->offsets)))
			return -ENOMEM;
		x->offsets[x->n_offsets++] = (struct realtime_offset){sqlite3_column_int64(st, 0),
								      sqlite3_column_int64(st, 1)};
	}
	return step == SQLITE_DONE ? 0 : -ENOMEM;
}

/* Converts a time by the last snapshot before it, else by the first one. Returns false if there is
 * none. */
static bool find_realtime(struct parquet_export *x, int64_t ts, int64_t *ret)
{
	const struct realtime_offset *o = x->offsets;
	size_t at = x->last_offset;

	if (!x->n_offsets)
		return false;
	if ((at && ts < o[at].ts) || (at + 1 < x->n_offsets && ts >= o[at + 1].ts)) {
		at = LOWER_BOUND(i, 0, x->n_offsets, o[i].ts <= ts);
		x->last_offset = at -= at > 0;
	}
	return !__builtin_add_overflow(ts, o[at].offset, ret);
}

/* Adds the columns real_ns and trace_uuid, and ends the row. ts: NULL for a table without times. */
static void end_parquet_row(struct parquet_export *x, struct parquet_file *f, const int64_t *ts)
{
	int64_t real;

	if (ts && find_realtime(x, *ts, &real))
		parquet_put_integer(f, real);
	else if (ts)
		parquet_put_null(f);
	if (x->uuid)
		parquet_put_text(f, x->uuid, strlen(x->uuid));
	parquet_end_row(f);
}

/* ---- the types of columns ---- */

/* Finds the kind of a column without a declared type by its values. Returns 0 or -EIO. */
static int find_column_kind(struct parquet_export *x, const char *table, const char *column,
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

struct parquet_table {
	struct parquet_column_def columns[PARQUET_COLUMNS_MAX];
	int n; /* columns of the table; after them come real_ns and trace_uuid */
	int n_all;
	int ts; /* index of the column "ts"; -1: none */
	const struct table *stored; /* of the store, with the rows; NULL: they come by SQL */
	unsigned stored_columns[PARQUET_COLUMNS_MAX]; /* its columns */
};

/* Sets the columns of a statement "select * from table", and appends real_ns and trace_uuid.
 * Returns 0, or -EIO and sets the error's text. The names are borrowed from the statement. */
static int list_columns(struct parquet_export *x, sqlite3_stmt *st, const char *table,
			struct parquet_table *ret)
{
	struct parquet_column_def *c = ret->columns;
	int n = MIN(sqlite3_column_count(st), PARQUET_COLUMNS_MAX - 2), r = 0;

	ret->ts = -1;
	for (int i = 0; r == 0 && i < n; i++) {
		const char *type = sqlite3_column_decltype(st, i);

		c[i].name = sqlite3_column_name(st, i);
		if (!type || !*type)
			r = find_column_kind(x, table, c[i].name, &c[i].kind);
		else
			c[i].kind = !strcmp(type, "INTEGER") ? PARQUET_INTEGER
				    : !strcmp(type, "REAL")  ? PARQUET_REAL
							     : PARQUET_TEXT;
		if (!strcmp(c[i].name, "ts") && c[i].kind == PARQUET_INTEGER)
			ret->ts = i;
	}
	ret->n = n;
	if (ret->ts >= 0)
		c[n++] = (struct parquet_column_def){"real_ns", PARQUET_INTEGER};
	c[n++] = (struct parquet_column_def){"trace_uuid", PARQUET_TEXT};
	ret->n_all = n;
	return r;
}

/* ---- rows ---- */

/* Returns 0; -EINVAL: the value is not of the column's kind; -ENOMEM. */
static int put_column(struct parquet_file *f, sqlite3_stmt *st, int i, enum parquet_kind kind)
{
	int type = sqlite3_column_type(st, i);
	const char *text;

	if (type == SQLITE_NULL) {
		parquet_put_null(f);
		return 0;
	}
	switch (kind) {
	case PARQUET_INTEGER:
		parquet_put_integer(f, sqlite3_column_int64(st, i));
		return type == SQLITE_INTEGER ? 0 : -EINVAL;
	case PARQUET_REAL:
		parquet_put_real(f, sqlite3_column_double(st, i));
		return type == SQLITE_FLOAT || type == SQLITE_INTEGER ? 0 : -EINVAL;
	case PARQUET_TEXT:
		break;
	}
	text = (const char *)sqlite3_column_text(st, i);
	if (!text && type != SQLITE_BLOB)
		return -ENOMEM;
	parquet_put_text(f, text ?: "", text ? (size_t)sqlite3_column_bytes(st, i) : 0);
	return 0;
}

/* Returns the index of a column, def->n_columns if there is none. */
static unsigned find_stored_column(const struct table_def *def, const char *name, size_t len)
{
	unsigned i = 0;

	while (i < def->n_columns &&
	       (!def->columns[i].name || strncmp(def->columns[i].name, name, len) ||
		def->columns[i].name[len]))
		i++;
	return i;
}

/* Finds the original name of a view's column: NAME in "SELECT NAME AS column", else column itself.
 * Returns its length. */
static size_t find_original_name(const char *sql, const char *column, const char **ret)
{
	char as[80];
	int n = snprintf(as, sizeof(as), " AS %s", column);
	const char *at = sql ? strstr(sql, as) : NULL;

	*ret = column;
	if (!at || !strchr(", \n", at[n]))
		return strlen(column);
	for (*ret = at; (*ret)[-1] != ' '; (*ret)--)
		;
	return (size_t)(at - *ret);
}

/* Sets of->stored to the store's table with the rows of a table, or of a view that chooses and
 * renames columns of one: its statement ends with the table's name. Leaves it NULL if there is
 * none. */
static void find_stored_table(const struct store *s, const char *table, const char *sql,
			      struct parquet_table *of)
{
	const char *from = sql ? strstr(sql, "FROM ") : NULL, *name;

	if (sql)
		table = from ? from + strlen("FROM ") : "";
	for (size_t i = 0; !of->stored && i < TABLES; i++)
		if (s->tables[i].def->name && !strcmp(s->tables[i].def->name, table))
			of->stored = &s->tables[i];
	for (int i = 0; of->stored && i < of->n; i++) {
		const struct table_def *def = of->stored->def;
		size_t len = find_original_name(sql, of->columns[i].name, &name);

		of->stored_columns[i] = find_stored_column(def, name, len);
		if (of->stored_columns[i] == def->n_columns)
			of->stored = NULL;
	}
}

static void put_value(struct parquet_file *f, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NULL:
		parquet_put_null(f);
		break;
	case VALUE_INT:
		parquet_put_integer(f, v->i);
		break;
	case VALUE_REAL:
		parquet_put_real(f, v->real);
		break;
	case VALUE_TEXT:
		parquet_put_text(f, v->s, v->len);
		break;
	}
}

/* The rows of a table of the store that make a row group. */
struct stored_rows {
	struct parquet_export *x;
	const struct parquet_table *of;
	uint32_t first, n;
};

static void add_cell(struct parquet_cells *to, uint32_t row, bool is_set, int64_t v)
{
	to->is_set[row] = is_set;
	to->values[to->n] = (uint64_t)v;
	to->n += is_set;
}

static void add_string_cell(const struct store *s, struct parquet_cells *to, uint32_t row,
			    int64_t id)
{
	bool is_set = id < (int64_t)s->strings.n;
	const struct interned_string *of = is_set ? &s->strings.of[id] : NULL;

	add_cell(to, row, is_set, of ? parquet_number_text(to, of->s, of->len) : 0);
}

/* Adds n cells of rows that are in one chunk of the table; `row` is that of the first one in the
 * row group. */
static void add_stored_cells(const struct stored_rows *r, unsigned column, uint32_t row, uint32_t n,
			     struct parquet_cells *to)
{
	static const int64_t nulls[] = {[COLUMN_I64] = NULL_I64,
					[COLUMN_U32] = NULL_U32,
					[COLUMN_U16] = NULL_U16,
					[COLUMN_U8] = NULL_U8};
	const struct store *s = &r->x->t->store;
	const struct table *t = r->of->stored;
	const struct column_def *def = &t->def->columns[column];
	struct value v = {.i = 0};
	int64_t cells[TABLE_CHUNK_ROWS];

	if (def->kind == COLUMN_SAME)
		return add_stored_cells(r, def->arg, row, n, to);
	if (def->kind != COLUMN_ID && def->kind != COLUMN_COMPUTED)
		table_read_cells(t, column, r->first + row, n, cells);
	for (uint32_t i = 0; i < n; i++)
		switch (def->kind) {
		case COLUMN_ID:
			add_cell(to, row + i, true, r->first + row + i);
			break;
		case COLUMN_I64:
		case COLUMN_U32:
		case COLUMN_U16:
		case COLUMN_U8:
			add_cell(to, row + i, cells[i] != nulls[def->kind], cells[i]);
			break;
		case COLUMN_STATE:
			cells[i] = cells[i] < (int64_t)s->n_states ? s->states[cells[i]] : NULL_U32;
			/* fall through */
		case COLUMN_STRING:
			add_string_cell(s, to, row + i, cells[i]);
			break;
		case COLUMN_COMPUTED:
			store_read_value(s, t, r->first + row + i, column, &v);
			if (v.kind == VALUE_TEXT)
				v.i = parquet_number_text(to, v.s, v.len);
			add_cell(to, row + i, v.kind == (def->arg ? VALUE_TEXT : VALUE_INT), v.i);
			break;
		default:
			add_cell(to, row + i, true, cells[i]);
		}
}

/* Replaces times of the trace's clock by real times, or by null where these are unknown. */
static void convert_times(struct parquet_export *x, uint32_t n, struct parquet_cells *times)
{
	const uint64_t *from = times->values;
	int64_t real = 0;

	times->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_set = times->is_set[i] && find_realtime(x, (int64_t)*from++, &real);

		add_cell(times, i, is_set, real);
	}
}

static void fill_stored_column(void *ctx, size_t column, struct parquet_cells *to)
{
	const struct stored_rows *r = ctx;
	const struct parquet_table *of = r->of;
	bool is_real = of->ts >= 0 && column == (size_t)of->n;

	to->n = 0;
	if (column >= (size_t)of->n && !is_real) {
		const char *uuid = r->x->uuid;
		uint32_t number = uuid ? parquet_number_text(to, uuid, strlen(uuid)) : 0;

		for (uint32_t row = 0; row < r->n; row++)
			add_cell(to, row, uuid, number);
		return;
	}
	for (uint32_t row = 0, n; row < r->n; row += n) {
		n = MIN(r->n - row, TABLE_CHUNK_ROWS);
		add_stored_cells(r, of->stored_columns[is_real ? (size_t)of->ts : column], row, n,
				 to);
	}
	if (is_real)
		convert_times(r->x, r->n, to);
}

/* Writes the rows of a table of the store directly, without SQL, which would take most of the
 * time. */
static void put_stored_rows(struct parquet_export *x, struct parquet_file *f,
			    const struct parquet_table *of)
{
	struct stored_rows r = {.x = x, .of = of};

	_Static_assert(PARQUET_GROUP_ROWS % TABLE_CHUNK_ROWS == 0, "a row group has whole chunks");
	for (; r.first < of->stored->rows; r.first += r.n) {
		r.n = MIN(of->stored->rows - r.first, PARQUET_GROUP_ROWS);
		parquet_write_rows(f, r.n, fill_stored_column, &r);
	}
}

/* Writes the rows of the table of args without SQL. Returns 0, or -ENOMEM and sets the error's
 * text. */
static int put_args(struct parquet_export *x, struct parquet_file *f)
{
	struct arg_rows rows = {.store = &x->t->store};
	struct value v;
	int r;

	for (r = arg_rows_begin(&rows); r == 0 && !rows.done; r = arg_rows_next(&rows)) {
		for (unsigned i = 0; i < ARG_COLUMNS; i++) {
			arg_rows_value(&rows, (enum arg_column)i, &v);
			put_value(f, &v);
		}
		end_parquet_row(x, f, NULL);
	}
	arg_rows_deinit(&rows);
	return r < 0 ? err_set(x->e, r, "out of memory") : 0;
}

static int put_rows(struct parquet_export *x, struct parquet_file *f, sqlite3_stmt *st,
		    const char *table, const struct parquet_table *of)
{
	int step;

	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t ts;

		for (int i = 0; i < of->n; i++) {
			int r = put_column(f, st, i, of->columns[i].kind);

			if (r < 0)
				return err_set(x->e, r,
					       r == -ENOMEM ? "table %s: column %s: out of memory"
							    : "table %s: column %s has values of "
							      "several types",
					       table, of->columns[i].name);
		}
		if (of->ts >= 0)
			ts = sqlite3_column_int64(st, of->ts);
		end_parquet_row(x, f, of->ts >= 0 ? &ts : NULL);
	}
	return step == SQLITE_DONE
		       ? 0
		       : err_set(x->e, -EIO, "table %s: %s", table, sqlite3_errmsg(x->t->db));
}

/* ---- files ---- */

static void add_metadata(struct parquet_export *x, const char *table, struct parquet_file *f)
{
	char start[24];
	int64_t real;

	snprintf(start, sizeof(start), "%" PRId64, x->t->store.start_ts);
	parquet_add_metadata(f, "sonda.schema", SCHEMA);
	parquet_add_metadata(f, "sonda.version", SONDA_VERSION);
	parquet_add_metadata(f, "sonda.table", table);
	parquet_add_metadata(f, "sonda.start_ts", start);
	if (find_realtime(x, x->t->store.start_ts, &real)) {
		snprintf(start, sizeof(start), "%" PRId64, real);
		parquet_add_metadata(f, "sonda.start_realtime_ns", start);
	}
	if (x->uuid)
		parquet_add_metadata(f, "sonda.trace_uuid", x->uuid);
	if (x->losses)
		parquet_add_metadata(f, "sonda.losses", x->losses);
}

/* Writes the rows of a table or view as a file. sql: the statement of a view; NULL for a table. */
static int write_table_file(struct parquet_export *x, sqlite3_stmt *st, const char *table,
			    const char *sql, FILE *to)
{
	struct parquet_table of = {.stored = NULL};
	struct parquet_file *f;
	int r, closed;

	r = list_columns(x, st, table, &of);
	if (r < 0)
		return r;
	f = parquet_open(to, of.columns, (size_t)of.n_all);
	if (!f)
		return err_set(x->e, -ENOMEM, "out of memory");
	add_metadata(x, table, f);
	find_stored_table(&x->t->store, table, sql, &of);
	if (of.stored)
		put_stored_rows(x, f, &of);
	else if (!strcmp(table, "args"))
		r = put_args(x, f);
	else
		r = put_rows(x, f, st, table, &of);
	closed = parquet_close(f);
	if (r == 0 && closed < 0)
		r = err_set(x->e, closed, "cannot write %s: %s", x->to->path, strerror(-closed));
	return r;
}

/* Returns true if the table was chosen. Without a choice all tables are written, also those without
 * rows. */
static bool is_table_listed(const struct parquet_export *x, const char *name)
{
	for (size_t i = 0; x->choice && i < x->choice->n_tables; i++)
		if (!strcmp(x->choice->tables[i], name))
			return true;
	return !x->choice;
}

/* Returns 1 if the table has rows, 0 if not, or -EIO and sets the error's text. */
static int has_rows(const struct parquet_export *x, const char *name)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	char statement[96];
	int r;

	snprintf(statement, sizeof(statement), "select 1 from \"%.64s\" limit 1", name);
	r = sqlite3_prepare_v2(x->t->db, statement, -1, &st, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_step(st);
	return r == SQLITE_ROW ? 1
	       : r == SQLITE_DONE
		       ? 0
		       : err_set(x->e, -EIO, "table %s: %s", name, sqlite3_errmsg(x->t->db));
}

static int write_parquet(void *ctx, const char *name, const char *sql)
{
	struct parquet_export *x = ctx;
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	char statement[160], file[80];
	int r, closed;
	FILE *to;

	if (export_is_alias(name) || !is_table_listed(x, name))
		return 0;
	r = x->choice ? has_rows(x, name) : 1;
	if (r <= 0)
		return r;
	snprintf(statement, sizeof(statement), "select * from \"%.64s\"", name);
	snprintf(file, sizeof(file), "%.64s.parquet", name);
	if (sqlite3_prepare_v2(x->t->db, statement, -1, &st, NULL) != SQLITE_OK)
		return err_set(x->e, -EIO, "table %s: %s", name, sqlite3_errmsg(x->t->db));
	to = export_dir_open(x->to, file, x->e);
	if (!to)
		return -EIO;
	r = write_table_file(x, st, name, sql, to);
	closed = export_dir_close(x->to, file, to, x->e);
	return r < 0 ? r : closed;
}

/* Sets *ret to the first value of a statement as text, which the caller frees; NULL: there is none.
 * Returns 0, or -ENOMEM if the statement fails. */
static int select_text(sqlite3 *db, const char *sql, char **ret)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	int step = SQLITE_ERROR;

	*ret = NULL;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK)
		step = sqlite3_step(st);
	if (step == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		*ret = text ? strdup(text) : NULL;
		return *ret ? 0 : -ENOMEM;
	}
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0 : -ENOMEM;
}

int export_read_uuid(const struct trace_tables *t, char **ret)
{
	return select_text(t->db, "select str_value from metadata where name = 'trace_uuid'", ret);
}

int export_read_losses(const struct trace_tables *t, char **ret)
{
	return select_text(
		t->db,
		"select json_group_object(name || coalesce('[' || idx || ']', ''), value) "
		"from stats where value > 0 and severity in ('error', 'data_loss')",
		ret);
}

int export_parquet_chosen(const struct trace_tables *t, const struct parquet_choice *choice,
			  const struct export_dir *to, struct err_text *e)
{
	struct parquet_export x = {.t = t, .to = to, .choice = choice, .e = e};
	int r = read_clock_offsets(&x);

	if (r == 0 && choice)
		r = (x.uuid = strdup(choice->uuid)) ? 0 : -ENOMEM;
	else if (r == 0)
		r = export_read_uuid(t, &x.uuid);
	if (r == 0)
		r = export_read_losses(t, &x.losses);
	r = r < 0 ? err_set(e, r, "out of memory")
		  : export_for_each_table(t->db, 't', write_parquet, &x, e);
	if (r == 0)
		r = export_for_each_table(t->db, 'v', write_parquet, &x, e);
	free(x.uuid);
	free(x.losses);
	free(x.offsets);
	return r;
}

int export_parquet(const struct trace_tables *t, const struct export_dir *to, struct err_text *e)
{
	return export_parquet_chosen(t, NULL, to, e);
}
