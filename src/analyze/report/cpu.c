/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report cpu: who used the CPUs. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

static const struct report_section sections[] = {
	{"CPUs", NULL,
	 "WITH " SQL_RUNS ", c AS (SELECT cpu, sum(iif(utid IN (SELECT utid FROM thread WHERE "
	 "is_idle), 0, dur)) AS busy, sum(dur) AS seen, count(*) AS n FROM runs GROUP BY cpu) "
	 "SELECT cpu, busy AS busy_ns, 100.0 * busy / (:to - :from) AS busy_pct, seen - busy AS "
	 "idle_ns, :to - :from - seen AS unknown_ns, n AS switches FROM c ORDER BY cpu"},
	{"Threads", "sched",
	 "WITH " SQL_RUNS ", " SQL_CHOSEN
	 ", t AS (SELECT utid, sum(dur) AS run, max(dur) AS longest, count(*) AS n, count(DISTINCT "
	 "cpu) AS cpus FROM runs WHERE utid IN chosen GROUP BY utid) SELECT " SQL_WHO
	 ", run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct, n AS runs, longest AS "
	 "longest_ns, cpus FROM t" SQL_WHO_FROM "ORDER BY run DESC LIMIT :top"},
};

REPORT(report_cpu, "cpu", "who used the CPUs: time of each CPU and thread", sections);
