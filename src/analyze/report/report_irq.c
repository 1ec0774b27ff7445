/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report irq: time in interrupts. */
#include "analyze/report/report.h"

/* Sums of rows of the pass interrupts. */
#define SQL_TIMES                                                                                  \
	"sum(i.total) AS total_ns, 100.0 * sum(i.total) / (:to - :from) AS cpu_pct, sum(i.n) AS "  \
	"times, sum(i.total) / sum(i.n) AS mean_ns, max(i.worst) AS max_ns, i.worst_ts AS "        \
	"max_at_ts FROM interrupts i JOIN cpu_track t ON t.id = i.track_id "

#define SQL_INTERRUPTS(type)                                                                       \
	"SELECT i.name, t.cpu, " SQL_TIMES "WHERE t.type = " type " GROUP BY i.name, t.cpu ORDER " \
	"BY total_ns DESC LIMIT :top + :more"

#define SQL_INTERRUPTS_BY(column, as, order)                                                       \
	"SELECT " column as ", " SQL_TIMES "GROUP BY " column " ORDER BY " order                   \
	" LIMIT :top + :more"

static const struct report_section sections[] = {
	{.title = "Interrupts", .of_machine = true, .sql = SQL_INTERRUPTS("'cpu_irq'")},
	{.title = "Softirqs", .of_machine = true, .sql = SQL_INTERRUPTS("'cpu_softirq'")},
	{.title = "Timers", .of_machine = true, .sql = SQL_INTERRUPTS("'cpu_hrtimer'")},
	{.by = "name",
	 .on_request = true,
	 .title = "Interrupts of all CPUs",
	 .of_machine = true,
	 .sql = SQL_INTERRUPTS_BY("i.name", "", "total_ns DESC")},
	{.by = "cpu",
	 .on_request = true,
	 .title = "CPUs in interrupts",
	 .of_machine = true,
	 .sql = SQL_INTERRUPTS_BY("t.cpu", " AS cpu", "t.cpu")},
};

REPORT(report_irq, "irq", "time in interrupts, softirqs and timers, by CPU", "irq", sections);
