/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of trace_processor's library, as views with the same names and columns. A module's views
 * are made when a script includes it. */
#include <string.h>

#include "analyze/tables/table_module.h"
#include "base/core/mem.h"

#define SLICE_COLUMNS "s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name AS track_name"

static const struct sql_module {
	const char *name;
	const char *sql;
} modules[] = {
	{"slices.with_context",
	 "CREATE TEMP VIEW IF NOT EXISTS thread_slice AS SELECT " SLICE_COLUMNS ","
	 " t.name AS thread_name, t.utid, t.tid, t.is_main_thread, p.name AS process_name, p.upid,"
	 " p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur FROM slice s"
	 " JOIN thread_track k ON k.id = s.track_id JOIN thread t ON t.utid = k.utid"
	 " LEFT JOIN process p ON p.upid = t.upid;"
	 "CREATE TEMP VIEW IF NOT EXISTS process_slice AS SELECT " SLICE_COLUMNS ","
	 " p.name AS process_name, p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts,"
	 " s.thread_dur FROM slice s JOIN process_track k ON k.id = s.track_id"
	 " JOIN process p ON p.upid = k.upid;"
	 "CREATE TEMP VIEW IF NOT EXISTS thread_or_process_slice AS SELECT id, ts, dur, category, "
	 "name,"
	 " track_id, track_name, thread_name, utid, tid, process_name, upid, pid, depth, parent_id,"
	 " arg_set_id FROM thread_slice UNION ALL SELECT id, ts, dur, category, name, track_id,"
	 " track_name, NULL, NULL, NULL, process_name, upid, pid, depth, parent_id, arg_set_id"
	 " FROM process_slice;"},
	{"sched.with_context",
	 "CREATE TEMP VIEW IF NOT EXISTS sched_with_thread_process AS SELECT s.id, s.ts, s.dur, "
	 "s.utid,"
	 " t.upid, t.name AS thread_name, p.name AS process_name, s.cpu, s.end_state, s.priority"
	 " FROM sched s JOIN thread t ON t.utid = s.utid LEFT JOIN process p ON p.upid = t.upid;"},
	{"linux.cpu.frequency",
	 "CREATE TEMP VIEW IF NOT EXISTS cpu_frequency_counters AS SELECT c.id, c.track_id, c.ts,"
	 " lead(c.ts, 1, trace_end()) OVER (PARTITION BY c.track_id ORDER BY c.ts, c.id) - c.ts AS "
	 "dur,"
	 " CAST(c.value AS INTEGER) AS freq, k.cpu AS ucpu, k.cpu FROM counter c"
	 " JOIN cpu_counter_track k ON k.id = c.track_id WHERE k.name = 'cpufreq';"},
	{"time.conversion", ""}, /* its functions are always there */
};

/* "a.*" matches all modules of the package a. */
static bool sql_modules_matches(const struct sql_module *m, const char *name)
{
	size_t n = strlen(name);

	if (n >= 2 && !strcmp(name + n - 2, ".*"))
		return !strncmp(m->name, name, n - 1);
	return !strcmp(m->name, name);
}

bool sql_module_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (sql_modules_matches(&modules[i], name))
			return true;
	return false;
}

const char *sql_module_list(void)
{
	return "slices.with_context, sched.with_context, linux.cpu.frequency, time.conversion";
}

int sql_module_include(sqlite3 *db, const char *name)
{
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(modules) && r == SQLITE_OK; i++)
		if (sql_modules_matches(&modules[i], name))
			r = sqlite3_exec(db, modules[i].sql, NULL, NULL, NULL);
	return r;
}
