/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/findings/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARE "share_pct"

static void bind_parameter_if_used(sqlite3_stmt *st, const char *name, int64_t v)
{
	int i = sqlite3_bind_parameter_index(st, name);

	if (i)
		sqlite3_bind_int64(st, i, v);
}

int findings_make_tables(sqlite3 *db, int64_t from, int64_t to)
{
	const char *sql = finding_tables;
	int r = SQLITE_OK;

	while (r == SQLITE_OK && *sql) {
		sqlite3_stmt *st;

		r = sqlite3_prepare_v2(db, sql, -1, &st, &sql);
		if (r != SQLITE_OK || !st) /* NULL: only comments are left */
			continue;
		bind_parameter_if_used(st, ":from", from);
		bind_parameter_if_used(st, ":to", to);
		sqlite3_step(st);
		r = sqlite3_finalize(st);
	}
	return r;
}

/* ---- one finding ---- */

/* The evidence is a table, so that thresholds and order are the same for all statements. */
#define TABLE_SIZE 32
#define MAKE_TABLE "CREATE TEMP TABLE %s AS "

/* Sets e to SQLite's error, with the line of the finding if known. offset: where the text of the
 * finding begins in the statement. */
static int finding_set_sql_error(sqlite3 *db, const struct finding *f, size_t offset,
				 struct err_text *e)
{
	int at = -1;

#if SQLITE_VERSION_NUMBER >= 3038000
	at = sqlite3_error_offset(db);
#endif
	at = at >= (int)offset ? at - (int)offset : (int)strspn(f->sql, " \n");
	return err_set(e, -EINVAL, "%s:%u: %s", f->path, finding_line_of(f, at),
		       sqlite3_errmsg(db));
}

static bool is_end_of_statement(const char *tail)
{
	for (; *tail; tail++) {
		if (!strncmp(tail, "--", 2))
			tail += strcspn(tail, "\n");
		else if (!strchr(" \t\r\n;", *tail))
			return false;
		if (!*tail)
			break;
	}
	return true;
}

/* Creates the temporary table anew, with the rows of the finding's statement. */
static int finding_make_evidence(sqlite3 *db, const struct finding *f, const char *table,
				 const struct finding_window *w, struct err_text *e)
{
	size_t offset = strlen(MAKE_TABLE) - strlen("%s") + strlen(table);
	char drop[TABLE_SIZE + 32];
	sqlite3_stmt *st = NULL;
	const char *tail;
	char *sql;
	int r;

	snprintf(drop, sizeof(drop), "DROP TABLE IF EXISTS temp.%s", table);
	sqlite3_exec(db, drop, NULL, NULL, NULL);
	sql = sqlite3_mprintf(MAKE_TABLE "%s", table, f->sql);
	if (!sql)
		return err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	r = sqlite3_prepare_v2(db, sql, -1, &st, &tail);
	if (r == SQLITE_OK && !is_end_of_statement(tail)) {
		err_set(e, -EINVAL, "%s:%u: a finding must be a single SELECT", f->path,
			finding_line_of(f, (int)((size_t)(tail - sql) - offset)));
		r = -EINVAL;
	} else if (r == SQLITE_OK) {
		bind_parameter_if_used(st, ":from", w->from);
		bind_parameter_if_used(st, ":to", w->to);
		bind_parameter_if_used(st, ":top", w->top);
		r = sqlite3_step(st);
		r = r == SQLITE_DONE ? 0 : finding_set_sql_error(db, f, offset, e);
	} else {
		r = finding_set_sql_error(db, f, offset, e);
	}
	sqlite3_finalize(st);
	sqlite3_free(sql);
	return r;
}

static bool table_has_column(sqlite3 *db, const char *table, const char *name)
{
	sqlite3_stmt *st;
	bool some = false;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", -1, &st,
			       NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
	some = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_finalize(st);
	return some;
}

static int finding_check_columns(sqlite3 *db, const struct finding *f, const char *table,
				 struct err_text *e)
{
	const char *missing = table_has_column(db, table, SHARE) ? NULL : SHARE;

	for (size_t i = 0; i < f->n_thresholds && !missing; i++)
		if (!table_has_column(db, table, f->thresholds[i].column))
			missing = f->thresholds[i].column;
	return missing ? err_set(e, -EINVAL, "%s: the SELECT has no column '%s'", f->path, missing)
		       : 0;
}

int finding_run(sqlite3 *db, const struct finding *f, unsigned number,
		const struct finding_window *w, sqlite3_stmt **ret, double *ret_share,
		struct err_text *e)
{
	struct strbuf sql = {0};
	char table[TABLE_SIZE];
	sqlite3_stmt *st = NULL;
	int r;

	snprintf(table, sizeof(table), "evidence_%u", number);
	r = finding_make_evidence(db, f, table, w, e) ?: finding_check_columns(db, f, table, e);
	if (r < 0)
		return r;
	strbuf_printf(&sql, "SELECT * FROM temp.%s WHERE " SHARE " > 0", table);
	for (size_t i = 0; i < f->n_thresholds; i++)
		strbuf_printf(&sql, " AND %s >= %.17g", f->thresholds[i].column,
			      f->thresholds[i].min);
	strbuf_printf(&sql, " ORDER BY " SHARE " DESC LIMIT %" PRId64, w->top + w->more);
	if (sql.failed || sqlite3_prepare_v2(db, sql.s, -1, &st, NULL) != SQLITE_OK)
		r = err_set(e, -EINVAL, "%s: %s", f->path, sqlite3_errmsg(db));
	strbuf_deinit(&sql);
	if (r == 0 && sqlite3_step(st) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++)
			if (!strcmp(sqlite3_column_name(st, i), SHARE))
				*ret_share = sqlite3_column_double(st, i);
		sqlite3_reset(st);
	} else {
		sqlite3_finalize(st);
		st = NULL;
	}
	if (r == 0)
		*ret = st;
	return r;
}

void finding_put_need(const struct finding *f, size_t i, struct strbuf *b)
{
	static const char *const kinds[] = {[NEED_EVENT] = "event",
					    [NEED_SOURCE] = "data source",
					    [NEED_COUNTER] = "counter",
					    [NEED_TABLE] = "table"};
	size_t first = i;

	while (first > 0 && f->needs[first - 1].or_next)
		first--;
	for (; first <= i; first++)
		strbuf_printf(b, "%s %s%s", kinds[f->needs[first].kind], f->needs[first].name,
			      first < i ? " or " : "");
}
