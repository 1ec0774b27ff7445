/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report syscalls: the columns of strace -c, and the slowest calls. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* It cannot break statements that have macros in them: */
/* clang-format off */

/* calls(utid, name, ts, dur, ret): those of chosen threads that returned within the window. */
#define SQL_CALLS                                                                                  \
	"calls AS (SELECT t.utid, substr(s.name, 5) AS name, s.ts, s.dur, "                        \
	"extract_arg(s.arg_set_id, 'ret') AS ret FROM slice s JOIN thread_track t ON t.id = "      \
	"s.track_id WHERE s.name GLOB 'sys_*' AND s.dur >= 0 AND s.ts >= :from AND s.ts + s.dur "  \
	"<= :to AND t.type = 'thread_execution' AND t.utid IN chosen)"

/* The columns of strace -c, of the rows of the table c. */
#define SQL_COUNTS                                                                                 \
	"100.0 * sum(dur) / (SELECT sum(dur) FROM calls) AS time_pct, sum(dur) AS total_ns, "      \
	"sum(dur) / count(*) AS mean_ns, max(dur) AS max_ns, count(*) AS calls, sum(ret BETWEEN "  \
	"-4095 AND -1) AS errors"

static const struct report_section sections[] = {
	{.by = "name",
	 .title = "System calls",
	 .sql = "WITH " SQL_CALLS " SELECT " SQL_COUNTS ", name AS syscall FROM calls GROUP BY "
		"name ORDER BY total_ns DESC LIMIT :top + :more"},
	{.by = "thread",
	 .on_request = true,
	 .title = "System calls, by thread",
	 .sql = "WITH " SQL_CALLS ", t AS (SELECT utid, " SQL_COUNTS " FROM calls GROUP BY utid) "
		"SELECT time_pct, total_ns, mean_ns, max_ns, calls, errors, " SQL_WHO " FROM t"
		SQL_WHO_FROM "ORDER BY total_ns DESC LIMIT :top + :more"},
	{.by = "process",
	 .on_request = true,
	 .title = "System calls, by process",
	 .sql = "WITH " SQL_CALLS ", " SQL_BY_PROCESS ", t AS (SELECT who, " SQL_COUNTS " FROM "
		"calls JOIN grp USING (utid) GROUP BY who) SELECT time_pct, total_ns, mean_ns, "
		"max_ns, calls, errors, " SQL_PROCESS " FROM t" SQL_PROCESS_FROM "ORDER BY "
		"total_ns DESC LIMIT :top + :more"},
	{.title = "Slowest calls",
	 .sql = "WITH " SQL_CALLS ", c AS (SELECT * FROM calls ORDER BY dur DESC LIMIT :top) "
		"SELECT dur AS took_ns, ts AS at_ts, c.name AS syscall, ret, " SQL_WHO " FROM c"
		SQL_WHO_FROM "ORDER BY dur DESC"},
};

REPORT(report_syscalls, "syscalls", "system calls: times, errors, and the slowest", "syscalls",
       sections);
