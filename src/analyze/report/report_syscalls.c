/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report syscalls: the columns of strace -c, and the slowest calls. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* The columns of strace -c; by: what calls are counted by. */
#define SQL_CALLS_BY(by, columns, from)                                                            \
	"SELECT 100.0 * total / (SELECT sum(total) FROM calls_by('" by "')) AS time_pct, total "   \
	"AS total_ns, total / n AS mean_ns, worst AS max_ns, n AS calls, errors, " columns         \
	" FROM calls_by('" by "')" from "ORDER BY total DESC, who LIMIT :top + :more"

static const struct report_section sections[] = {
	{.by = "name",
	 .title = "System calls",
	 .sql = SQL_CALLS_BY("name", "substr(who, 5) AS syscall", " ")},
	{.by = "thread",
	 .on_request = true,
	 .title = "System calls, by thread",
	 .sql = SQL_CALLS_BY("thread", SQL_WHO,
		" JOIN thread ON utid = who LEFT JOIN process USING (upid) ")},
	{.by = "process",
	 .on_request = true,
	 .title = "System calls, by process",
	 .sql = SQL_CALLS_BY("process", SQL_PROCESS, SQL_PROCESS_FROM)},
	{.title = "Slowest calls",
	 .sql = "SELECT s.dur AS took_ns, s.ts AS at_ts, substr(s.name, 5) AS syscall, result AS "
		"ret, " SQL_WHO " FROM longest_calls('', :top) c CROSS JOIN slice s ON s.id = "
		"c.id JOIN thread_track t ON t.id = s.track_id JOIN thread ON thread.utid = "
		"t.utid LEFT JOIN process USING (upid) ORDER BY s.dur DESC, s.id"},
};

REPORT(report_syscalls, "syscalls", "system calls: times, errors, and the slowest", "syscalls",
       sections);
