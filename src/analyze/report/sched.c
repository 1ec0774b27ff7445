/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report sched: how each thread spent its time, and in which kernel functions it was blocked. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

static const struct report_section sections[] = {
	{"Threads", "latency",
	 "WITH " SQL_STATES ", " SQL_CHOSEN
	 ", t AS (SELECT utid, sum(iif(state = 'Running', dur, 0)) AS run, sum(iif(state IN ('R', "
	 "'R+'), dur, 0)) AS waits, sum(iif(state GLOB 'D*', dur, 0)) AS blocked, sum(iif(state = "
	 "'S' OR state = 'I', dur, 0)) AS sleep, count(*) FILTER (WHERE state = 'Running') AS n, "
	 "count(*) FILTER (WHERE state IN ('R', 'R+') AND NOT woken) AS preempted FROM states "
	 "WHERE utid IN chosen GROUP "
	 "BY utid) SELECT " SQL_WHO
	 ", run AS run_ns, waits AS runnable_ns, blocked AS blocked_ns, sleep AS sleep_ns, n AS "
	 "runs, preempted FROM t" SQL_WHO_FROM "ORDER BY run + waits + blocked DESC LIMIT :top"},
	{"Blocked in", NULL,
	 "WITH " SQL_STATES ", " SQL_CHOSEN
	 ", b AS (SELECT utid, coalesce(blocked_function, '(not recorded: sched_blocked_reason "
	 "with symbols)') AS function, sum(dur) AS total, count(*) AS n, max(dur) AS longest, "
	 "max(io_wait) AS io FROM states WHERE state GLOB 'D*' AND utid IN chosen GROUP BY 1, 2) "
	 "SELECT function, " SQL_WHO
	 ", total AS blocked_ns, n AS times, longest AS longest_ns, iif(io, 'yes', '') AS io FROM "
	 "b" SQL_WHO_FROM "ORDER BY total DESC LIMIT :top"},
};

REPORT(report_sched, "sched", "how threads spent their time: running, runnable, blocked, asleep",
       sections);
