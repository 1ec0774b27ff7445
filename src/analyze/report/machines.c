/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/machines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/sql/analyze/report/machines.h"

/* A view for each table or pass that has rows of several machines: its name, which hides the table,
 * and its rows (machines.sql). */
static const char *const views[][2] = {
	{"machine", view_machine},
	{"cpu", view_cpu},
	{"thread", view_thread},
	{"process", view_process},
	{"sched", view_sched},
	{"thread_state", view_thread_state},
	{"spurious_sched_wakeup", view_spurious_sched_wakeup},
	{"ftrace_event", view_ftrace_event},
	{"__intrinsic_track", view_track},
	{"__intrinsic_slice", view_slice},
	{"counter", view_counter},
	{"used", view_used},
	{"spent", view_spent},
};

/* The same for the tables of chosen.h: machines_restrict_to() renames NAME to NAME_of_all. */
static const char *const own_views[][2] = {
	{"chosen", view_chosen},
	{"recorded", view_recorded},
};

int machines_list(sqlite3 *db, struct machine_list *ret)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, list_machines, -1, &st, NULL);

	*ret = (struct machine_list){.n = 0};
	if (r != SQLITE_OK)
		return r;
	for (; sqlite3_step(st) == SQLITE_ROW; ret->of_trace++)
		if (sqlite3_column_int(st, 1) && ret->n < MACHINES_MAX)
			ret->ids[ret->n++] = sqlite3_column_int64(st, 0);
	return sqlite3_finalize(st);
}

/* Copies "table" or "view" for the temporary table or view of a name. Returns false if there is
 * none. */
static bool machines_find_schema_type(sqlite3 *db, const char *name, char ret[static 8])
{
	sqlite3_stmt *st;
	bool found;

	if (sqlite3_prepare_v2(db, find_type, -1, &st, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	found = sqlite3_step(st) == SQLITE_ROW;
	if (found)
		snprintf(ret, 8, "%s", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return found;
}

__attribute__((format(printf, 2, 3))) static int run_formatted_sql(sqlite3 *db, const char *format,
								   ...)
{
	va_list list;
	char *sql;
	int r;

	va_start(list, format);
	sql = sqlite3_vmprintf(format, list);
	va_end(list);
	r = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return r;
}

/* Makes a view with the rows of one machine, and replaces that of an earlier call. */
static int make_machine_view(sqlite3 *db, const char *const view[2], int64_t id)
{
	struct strbuf rows = {0};
	char kind[8];
	int r = machines_find_schema_type(db, view[0], kind) && !strcmp(kind, "view")
			? run_formatted_sql(db, "DROP VIEW temp.%s", view[0])
			: SQLITE_OK;

	for (const char *at = view[1]; *at; at++)
		if (*at == '#')
			strbuf_printf(&rows, "%" PRId64, id);
		else
			strbuf_add(&rows, at, 1);
	if (r == SQLITE_OK)
		r = rows.failed
			    ? SQLITE_NOMEM
			    : run_formatted_sql(db, "CREATE TEMP VIEW %s AS %s", view[0], rows.s);
	strbuf_deinit(&rows);
	return r;
}

int machines_restrict_to(sqlite3 *db, int64_t id)
{
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(views) && r == SQLITE_OK; i++)
		r = make_machine_view(db, views[i], id);
	for (size_t i = 0; i < ARRAY_SIZE(own_views) && r == SQLITE_OK; i++) {
		const char *name = own_views[i][0];
		char kind[8];

		if (machines_find_schema_type(db, name, kind) && !strcmp(kind, "table"))
			r = run_formatted_sql(db, "ALTER TABLE temp.%s RENAME TO %s_of_all", name,
					      name);
		if (r == SQLITE_OK)
			r = make_machine_view(db, own_views[i], id);
	}
	return r;
}

char *machines_title(sqlite3 *db, int64_t id)
{
	sqlite3_stmt *st;
	char *title = NULL;

	if (sqlite3_prepare_v2(db, make_title, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(st, 1, id);
	if (sqlite3_step(st) == SQLITE_ROW)
		title = strdup((const char *)sqlite3_column_text(st, 0));
	if (title)
		str_make_plain(title, strlen(title), "");
	sqlite3_finalize(st);
	return title;
}
