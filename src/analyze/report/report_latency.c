/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report latency: how long threads waited for a CPU. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* It cannot break statements that have macros in them: */
/* clang-format off */

/* group: a table grp(utid, who). */
#define SQL_WAITS_BY(group, columns, from)                                                         \
	"WITH " SQL_WAITS ", " group ", ranked AS (SELECT who, ts, dur, woken, "                   \
	SQL_RANKS("who", "dur") " FROM waits JOIN grp USING (utid) WHERE utid IN chosen), t AS "   \
	"(SELECT who, n, sum(woken) AS wakeups, sum(dur) AS total, " SQL_P50("dur") " AS p50, "    \
	SQL_P99("dur") " AS p99, max(dur) AS worst, max(iif(k = n, ts, 0)) AS worst_ts FROM "      \
	"ranked GROUP BY who) SELECT " columns ", wakeups, n - wakeups AS preempted, total / n "   \
	"AS mean_ns, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns, worst_ts AS max_at_ts FROM "   \
	"t" from "ORDER BY worst DESC LIMIT :top + :more"

static const struct report_section sections[] = {
	{.by = "thread",
	 .title = "Waits for a CPU, by thread",
	 .more = "why",
	 .sql = SQL_WAITS_BY("grp AS (SELECT utid, utid AS who FROM thread)", SQL_WHO,
		" JOIN thread ON utid = who LEFT JOIN process USING (upid) ")},
	{.by = "process",
	 .on_request = true,
	 .title = "Waits for a CPU, by process",
	 .sql = SQL_WAITS_BY(SQL_BY_PROCESS, SQL_PROCESS, SQL_PROCESS_FROM)},
	{.by = "program",
	 .on_request = true,
	 .title = "Waits for a CPU, by program",
	 .sql = SQL_WAITS_BY(SQL_BY_PROGRAM, SQL_PROGRAM, " ")},
	{.title = "Longest waits", .sql = SQL_WORST_WAITS},
	{.title = "All waits",
	 .sql = "WITH " SQL_WAITS ", spans AS (SELECT dur FROM waits WHERE utid IN chosen), "
		SQL_HISTOGRAM("waits")},
};

REPORT(report_latency, "latency",
       "how long threads waited for a CPU: p50, p99, the longest, and behind whom", "sched",
       sections);
