/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report cpu: the threads that used the CPUs. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* u(utid, run, longest, n, cpus): of each thread. */
#define SQL_USED                                                                                   \
	"u AS (SELECT utid, sum(time) AS run, max(longest) AS longest, sum(n) AS n, count(*) AS "  \
	"cpus FROM used WHERE utid IN chosen GROUP BY utid)"

#define SQL_USED_BY(group, columns, from)                                                          \
	"WITH " SQL_USED ", " group                                                                \
	", t AS (SELECT who, sum(run) AS run, max(longest) AS longest, sum(n) AS n, count(*) AS "  \
	"threads FROM u JOIN grp USING (utid) GROUP BY who) SELECT " columns                       \
	", run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct, n AS runs, longest AS "          \
	"longest_ns, threads FROM t" from "ORDER BY run DESC LIMIT :top + :more"

static const struct report_section sections[] = {
	{.by = "cpu",
	 .title = "CPUs",
	 .more = "timeline",
	 .sql = "WITH c AS (SELECT cpu, sum(iif(utid IN chosen, time, 0)) AS busy, sum(iif(utid IN "
		"(SELECT utid FROM thread WHERE is_idle), time, 0)) AS idle, sum(time) AS seen, "
		"sum(n) AS n FROM used GROUP BY cpu) SELECT cpu, busy AS busy_ns, 100.0 * busy / "
		"(:to - :from) AS busy_pct, seen - busy - idle AS others_ns, idle AS idle_ns, :to "
		"- "
		":from - seen AS unknown_ns, n AS switches FROM c ORDER BY cpu"},
	{.by = "thread",
	 .title = "Threads",
	 .more = "sched",
	 .sql = "WITH " SQL_USED " SELECT " SQL_WHO
		", run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct, n AS runs, longest AS "
		"longest_ns, cpus FROM u" SQL_WHO_FROM "ORDER BY run DESC LIMIT :top + :more"},
	{.by = "process",
	 .on_request = true,
	 .title = "Processes",
	 .more = "sched --by process",
	 .sql = SQL_USED_BY(SQL_BY_PROCESS, SQL_PROCESS, SQL_PROCESS_FROM)},
	{.by = "program",
	 .on_request = true,
	 .title = "Programs",
	 .sql = SQL_USED_BY(SQL_BY_PROGRAM, SQL_PROGRAM, " ")},
};

const struct report report_cpu = {
	.name = "cpu",
	.help = "who used the CPUs: time of each CPU, thread, process or program",
	.records = "sched",
	.sections = sections,
	.n_sections = sizeof(sections) / sizeof(sections[0]),
};
