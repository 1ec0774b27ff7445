/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report latency: how long threads waited for a CPU. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* by: what waits are counted by. */
#define SQL_WAITS_BY(by, columns, from)                                                            \
	"SELECT " columns ", t.woken AS wakeups, n - t.woken AS preempted, total / n AS mean_ns, " \
	"p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns, worst_ts AS max_at_ts FROM "               \
	"waits_by('" by "') t" from "ORDER BY worst DESC, who LIMIT :top + :more"

static const struct report_section sections[] = {
	{.by = "thread",
	 .title = "Waits for a CPU, by thread",
	 .more = "why",
	 .sql = SQL_WAITS_BY("thread", SQL_WHO,
		" JOIN thread ON utid = who LEFT JOIN process USING (upid) ")},
	{.by = "process",
	 .on_request = true,
	 .title = "Waits for a CPU, by process",
	 .sql = SQL_WAITS_BY("process", SQL_PROCESS, SQL_PROCESS_FROM)},
	{.by = "program",
	 .on_request = true,
	 .title = "Waits for a CPU, by program",
	 .sql = SQL_WAITS_BY("program", SQL_PROGRAM, " ")},
	{.title = "Longest waits", .sql = SQL_WORST_WAITS},
	SECTION_LATE_TIMERS,
	{.title = "All waits",
	 .sql = "WITH h AS (SELECT who AS length, n FROM waits_by('length')) " SQL_HISTOGRAM("waits")},
};

REPORT(report_latency, "latency",
       "how long threads waited for a CPU: p50, p99, the longest, and behind whom", "sched",
       sections);
