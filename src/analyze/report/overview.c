/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report: one screen. Each part names the report that says more. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

static const struct report_section sections[] = {
	{"Trace", NULL,
	 "SELECT :to - :from AS duration_ns, (SELECT count(*) FROM sched) AS switches, (SELECT "
	 "count(*) FROM slice) AS slices, (SELECT count(*) FROM counter) AS counters, (SELECT "
	 "count(*) FROM ftrace_event) AS kernel_events, (SELECT release FROM machine LIMIT 1) AS "
	 "kernel"},
	{"CPUs", "cpu",
	 "WITH " SQL_RUNS ", c AS (SELECT cpu, sum(iif(utid IN (SELECT utid FROM thread WHERE "
	 "is_idle), 0, dur)) AS busy, count(*) AS n FROM runs GROUP BY cpu) SELECT cpu, 100.0 * "
	 "busy / (:to - :from) AS busy_pct, n AS switches FROM c ORDER BY busy DESC LIMIT 8"},
	{"Used the CPUs", "cpu",
	 "WITH " SQL_RUNS ", " SQL_CHOSEN
	 ", t AS (SELECT utid, sum(dur) AS run FROM runs WHERE utid IN chosen GROUP BY utid) "
	 "SELECT " SQL_WHO
	 ", run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct FROM t" SQL_WHO_FROM
	 "ORDER BY run DESC LIMIT min(:top, 5)"},
	{"Waited: for a CPU (runnable), for something else in the kernel (blocked)", "sched",
	 "WITH " SQL_STATES ", " SQL_CHOSEN
	 ", t AS (SELECT utid, sum(iif(state IN ('R', 'R+'), dur, 0)) AS waits, sum(iif(state GLOB "
	 "'D*', dur, 0)) AS blocked FROM states WHERE utid IN chosen GROUP BY utid) SELECT " SQL_WHO
	 ", waits AS runnable_ns, blocked AS blocked_ns FROM t" SQL_WHO_FROM
	 "WHERE waits + blocked > 0 ORDER BY waits + blocked DESC LIMIT min(:top, 5)"},
	{"Longest waits for a CPU", "latency",
	 "SELECT wait_ns, at_ts, cpu, thread, tid, behind FROM (" SQL_WORST_WAITS
	 ") LIMIT min(:top, 3)"},
	{"Interrupts", "irq",
	 "SELECT s.name, sum(s.dur) AS total_ns, count(*) AS times, max(s.dur) AS max_ns FROM "
	 "slice "
	 "s JOIN cpu_track t ON t.id = s.track_id WHERE t.type IN ('cpu_irq', 'cpu_softirq') AND "
	 "s.dur >= 0 AND s.ts >= :from AND s.ts < :to GROUP BY s.name ORDER BY total_ns DESC LIMIT "
	 "min(:top, 3)"},
	{"Losses and errors", "loss",
	 "SELECT description, severity, sum(value) AS value FROM stats WHERE severity != 'info' "
	 "AND value > 0 GROUP BY name ORDER BY severity, value DESC LIMIT min(:top, 5)"},
};

REPORT(report_overview, "overview", "one screen: who ran, what waited, what is missing", sections);
