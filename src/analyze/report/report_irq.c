/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report irq: time in interrupts. */
#include "analyze/report/report.h"

#define SQL_INTERRUPTS(types)                                                                      \
	"SELECT s.name, t.cpu, sum(s.dur) AS total_ns, 100.0 * sum(s.dur) / (:to - :from) AS "     \
	"cpu_pct, count(*) AS times, sum(s.dur) / count(*) AS mean_ns, max(s.dur) AS max_ns, "     \
	"s.ts AS max_at_ts FROM slice s JOIN cpu_track t ON t.id = s.track_id WHERE t.type "       \
	"IN (" types ") AND s.dur >= 0 AND s.ts >= :from AND s.ts < :to GROUP BY s.name, t.cpu "   \
	"ORDER BY total_ns DESC LIMIT :top + :more"

#define SQL_INTERRUPTS_BY(column, as, order)                                                       \
	"SELECT " column as ", sum(s.dur) AS total_ns, 100.0 * sum(s.dur) / (:to - :from) AS "     \
	"cpu_pct, count(*) AS times, sum(s.dur) / count(*) AS mean_ns, max(s.dur) AS max_ns, "     \
	"s.ts AS max_at_ts FROM slice s JOIN cpu_track t ON t.id = s.track_id WHERE t.type "       \
	"IN ('cpu_irq', 'cpu_softirq', 'cpu_hrtimer') AND s.dur >= 0 AND s.ts >= :from AND "       \
	"s.ts < :to GROUP BY " column " ORDER BY " order " LIMIT :top + :more"

static const struct report_section sections[] = {
	{.title = "Interrupts", .sql = SQL_INTERRUPTS("'cpu_irq'")},
	{.title = "Softirqs", .sql = SQL_INTERRUPTS("'cpu_softirq'")},
	{.title = "Timers", .sql = SQL_INTERRUPTS("'cpu_hrtimer'")},
	{.by = "name",
	 .on_request = true,
	 .title = "Interrupts of all CPUs",
	 .sql = SQL_INTERRUPTS_BY("s.name", "", "total_ns DESC")},
	{.by = "cpu",
	 .on_request = true,
	 .title = "CPUs in interrupts",
	 .sql = SQL_INTERRUPTS_BY("t.cpu", " AS cpu", "t.cpu")},
};

REPORT(report_irq, "irq", "time in interrupts, softirqs and timers, by CPU", "irq", sections);
