/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda report timeline: a line of blocks for each CPU and thread. The window is divided into
 * :width cells.
 *
 *	cells(n, low)		the cells, and where they begin
 *	parts(who, n, ...)	how much of each cell a row has; an interval that crosses cells is in each of them
 */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* It cannot break statements that have macros in them: */
/* clang-format off */

#define SQL_CELLS                                                                                  \
	"cells AS MATERIALIZED (SELECT 0 AS n, :from AS low, :from + (:to - :from) / :width AS "   \
	"high UNION ALL SELECT n + 1, :from + (:to - :from) * (n + 1) / :width, :from + (:to - "   \
	":from) * (n + 2) / :width FROM cells WHERE n + 1 < :width)"

/* The cell of a time. */
#define SQL_CELL(at) "min(:width - 1, (" at " - :from) * :width / (:to - :from))"

/* parts(key, n, kind, time) of spans(key, kind, ts, dur): those within a cell at once, the
 * others by cell. */
#define SQL_PARTS                                                                                  \
	"placed AS (SELECT *, " SQL_CELL("ts") " AS a, " SQL_CELL("(ts + dur)") " AS z FROM "      \
	"spans), parts AS (SELECT key, a AS n, kind, sum(dur) AS time FROM placed WHERE a = z "    \
	"GROUP BY 1, 2, 3 UNION ALL SELECT key, n, kind, sum(min(ts + dur, high) - max(ts, "       \
	"low)) FROM placed JOIN cells ON n BETWEEN a AND z WHERE a < z GROUP BY 1, 2, 3)"

/* line(key, line): eighths of each cell; kinds other than 'run' have a letter where they have
 * more of the cell. */
#define SQL_LINES                                                                                  \
	"shares AS (SELECT key, n, sum(iif(kind = 'run', time, 0)) AS run, sum(iif(kind = 'w', "   \
	"time, 0)) AS w, sum(iif(kind = 'D', time, 0)) AS d FROM parts GROUP BY 1, 2), grid AS "   \
	"(SELECT k.key, c.n, CASE WHEN coalesce(w, 0) > run AND w >= d THEN 'w' WHEN "             \
	"coalesce(d, 0) > run THEN 'D' WHEN coalesce(run, 0) <= 0 THEN ' ' ELSE "                  \
	"substr(:blocks, max(1, min(8, CAST(round(8.0 * run / (high - low)) AS INTEGER))), 1) "    \
	"END AS mark FROM (SELECT DISTINCT key FROM shares) k CROSS JOIN cells c LEFT JOIN "       \
	"shares s ON s.key = k.key AND s.n = c.n), line AS (SELECT key, group_concat(mark, '') "   \
	"AS line FROM (SELECT * FROM grid ORDER BY key, n) GROUP BY key)"

static const struct report_section sections[] = {
	{.title = "Window",
	 .sql = "SELECT :from AS from_ts, :to AS to_ts, (:to - :from) / :width AS a_block_ns, "
		"'one block: how much of its time the CPU or thread ran; w: waited for a CPU, D: "
		"blocked' AS meaning"},
	{.by = "cpu",
	 .title = "CPUs",
	 .more = "cpu",
	 .sql = "WITH RECURSIVE " SQL_CELLS ", " SQL_RUNS ", spans AS (SELECT cpu AS key, 'run' "
		"AS kind, ts, dur FROM runs WHERE utid IN chosen), " SQL_PARTS ", " SQL_LINES ", "
		"b AS (SELECT key, sum(dur) AS busy FROM spans GROUP BY key) SELECT line AS "
		"time_bar, 'CPU ' || key AS cpu, busy AS busy_ns, 100.0 * busy / (:to - :from) "
		"AS busy_pct FROM line JOIN b USING (key) ORDER BY key"},
	{.by = "thread",
	 .title = "Threads",
	 .more = "sched",
	 .sql = "WITH RECURSIVE " SQL_CELLS ", " SQL_STATES ", s AS MATERIALIZED (SELECT utid AS "
		"key, CASE WHEN state = 'Running' THEN 'run' WHEN state IN ('R', 'R+') THEN 'w' "
		"ELSE 'D' END AS kind, ts, dur FROM states WHERE utid IN chosen AND (state IN "
		"('Running', 'R', 'R+') OR state GLOB 'D*')), b AS MATERIALIZED (SELECT key, "
		"sum(dur) AS busy, sum(iif(kind = 'run', dur, 0)) AS ran FROM s GROUP BY key "
		"ORDER BY busy DESC LIMIT :top + :more), spans AS (SELECT * FROM s WHERE key IN (SELECT "
		"key FROM b)), " SQL_PARTS ", " SQL_LINES " SELECT line AS time_bar, ran AS "
		"run_ns, " SQL_THREAD("t") " AS thread FROM line JOIN b USING (key) JOIN thread "
		"t ON t.utid = key ORDER BY busy DESC"},
};

REPORT(report_timeline, "timeline", "a line of blocks for each CPU and thread over the time",
       "sched", sections);
