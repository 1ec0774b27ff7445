/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report sched: how each thread spent its time, and in which kernel functions it was
 * blocked. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* u(utid, run, waits, blocked, sleep, n, preempted): of each thread. */
#define SQL_SPENT                                                                                  \
	"u AS (SELECT utid, sum(iif(state = 'Running', time, 0)) AS run, sum(iif(state IN ('R', "  \
	"'R+'), time, 0)) AS waits, sum(iif(state GLOB 'D*', time, 0)) AS blocked, sum(iif(state " \
	"= 'S' OR state = 'I', time, 0)) AS sleep, sum(iif(state = 'Running', n, 0)) AS n, "       \
	"sum(iif(state IN ('R', 'R+'), spent.n - woken, 0)) AS preempted FROM spent WHERE utid "   \
	"IN chosen GROUP BY utid)"

#define SQL_SPENT_COLUMNS                                                                          \
	", run AS run_ns, waits AS runnable_ns, blocked AS blocked_ns, sleep AS sleep_ns, n AS "   \
	"runs, preempted"

#define SQL_SPENT_BY(group, columns, from)                                                         \
	"WITH " SQL_SPENT ", " group                                                               \
	", t AS (SELECT who, sum(run) AS run, sum(waits) AS waits, sum(blocked) AS blocked, "      \
	"sum(sleep) AS sleep, sum(n) AS n, sum(preempted) AS preempted FROM u JOIN grp USING "     \
	"(utid) GROUP BY who) SELECT " columns SQL_SPENT_COLUMNS " FROM t" from                    \
	"ORDER BY run + waits + blocked DESC LIMIT :top + :more"

static const struct report_section sections[] = {
	{.by = "thread",
	 .title = "Threads",
	 .more = "latency",
	 .sql = "WITH " SQL_SPENT " SELECT " SQL_WHO SQL_SPENT_COLUMNS " FROM u" SQL_WHO_FROM
		"ORDER BY run + waits + blocked DESC LIMIT :top + :more"},
	{.by = "process",
	 .on_request = true,
	 .title = "Processes",
	 .more = "latency --by process",
	 .sql = SQL_SPENT_BY(SQL_BY_PROCESS, SQL_PROCESS, SQL_PROCESS_FROM)},
	{.by = "program",
	 .on_request = true,
	 .title = "Programs",
	 .sql = SQL_SPENT_BY(SQL_BY_PROGRAM, SQL_PROGRAM, " ")},
	{.by = "function",
	 .title = "Blocked in",
	 .sql = "SELECT coalesce(function, '(not recorded)') AS "
		"function, " SQL_WHO ", time AS blocked_ns, n AS times, longest AS longest_ns, "
		"iif(io, 'yes', '') AS io FROM blocked" SQL_WHO_FROM "ORDER BY time DESC, utid, "
		"function LIMIT :top + :more"},
};

const struct report report_sched = {
	.name = "sched",
	.help = "how threads spent their time: running, runnable, blocked, asleep",
	.records = "sched",
	.sections = sections,
	.n_sections = sizeof(sections) / sizeof(sections[0]),
};
