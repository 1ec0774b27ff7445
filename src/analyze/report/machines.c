/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/machines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/* The number of a CPU among those of all machines (ucpu) is machine * 4096 + cpu. */
#define CPU_BASE "(# * 4096)"
#define OF_CPU " WHERE ucpu >= " CPU_BASE " AND ucpu < " CPU_BASE " + 4096"
#define THREADS "(SELECT utid FROM main.thread WHERE machine_id = #)"
#define TRACKS "(SELECT id FROM main.__intrinsic_track WHERE machine_id = #)"

/* A view for each table or pass that has rows of several machines: its name, which hides the table,
 * and its rows. # stands for the machine. */
static const char *const views[][2] = {
	{"machine", "* FROM main.machine WHERE id = #"},
	{"cpu", "* FROM main.cpu WHERE machine_id = #"},
	{"thread", "* FROM main.thread WHERE machine_id = #"},
	{"process", "* FROM main.process WHERE machine_id = #"},
	{"sched",
	 "id, ts, dur, cpu - " CPU_BASE " AS cpu, utid, end_state, priority, ucpu, ts_end FROM "
	 "main.sched" OF_CPU},
	{"thread_state",
	 "id, ts, dur, cpu - " CPU_BASE " AS cpu, utid, state, io_wait, blocked_function, "
	 "waker_utid, waker_id, irq_context, ucpu FROM main.thread_state WHERE utid IN " THREADS},
	{"spurious_sched_wakeup", "* FROM main.spurious_sched_wakeup WHERE utid IN " THREADS},
	{"ftrace_event",
	 "id, ts, name, cpu - " CPU_BASE " AS cpu, utid, arg_set_id, common_flags, ucpu FROM "
	 "main.ftrace_event" OF_CPU},
	{"__intrinsic_track", "* FROM main.__intrinsic_track WHERE machine_id = #"},
	{"__intrinsic_slice", "* FROM main.__intrinsic_slice WHERE track_id IN " TRACKS},
	{"counter", "* FROM main.counter WHERE track_id IN " TRACKS},
	{"used",
	 "utid, cpu - " CPU_BASE " AS cpu, time, n, longest FROM main.used WHERE utid IN " THREADS},
	{"spent", "* FROM main.spent WHERE utid IN " THREADS},
};

/* The same for the tables of chosen.h: machines_restrict_to() renames NAME to NAME_of_all. */
static const char *const own_views[][2] = {
	{"chosen", "utid FROM chosen_of_all WHERE utid IN " THREADS},
	{"recorded", "utid FROM recorded_of_all WHERE utid IN " THREADS},
};

int machines_list(sqlite3 *db, struct machine_list *ret)
{
	static const char sql[] =
		"SELECT id, EXISTS (SELECT 1 FROM thread WHERE machine_id = m.id AND NOT is_idle) "
		"OR EXISTS (SELECT 1 FROM __intrinsic_track WHERE machine_id = m.id) FROM machine "
		"m ORDER BY id";
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

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
	static const char sql[] = "SELECT type FROM temp.sqlite_schema WHERE name = ?";
	sqlite3_stmt *st;
	bool found;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
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
		r = rows.failed ? SQLITE_NOMEM
				: run_formatted_sql(db, "CREATE TEMP VIEW %s AS SELECT %s", view[0],
						    rows.s);
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
	static const char sql[] =
		"SELECT 'Machine ' || id || iif(id = 0, ', where the service ran', '') || "
		"coalesce(': ' || sysname || ' ' || release, '') FROM main.machine WHERE id = ?";
	sqlite3_stmt *st;
	char *title = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(st, 1, id);
	if (sqlite3_step(st) == SQLITE_ROW)
		title = strdup((const char *)sqlite3_column_text(st, 0));
	if (title)
		str_make_plain(title, strlen(title), "");
	sqlite3_finalize(st);
	return title;
}
