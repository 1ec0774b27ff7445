/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report irq: time in interrupts. */
#include "analyze/report/report.h"

#define SQL_INTERRUPTS(types)                                                                      \
	"SELECT s.name, t.cpu, sum(s.dur) AS total_ns, 100.0 * sum(s.dur) / (:to - :from) AS "     \
	"cpu_pct, count(*) AS times, sum(s.dur) / count(*) AS mean_ns, max(s.dur) AS max_ns, "     \
	"s.ts AS max_at_ts FROM slice s JOIN cpu_track t ON t.id = s.track_id WHERE t.type "       \
	"IN (" types ") AND s.dur >= 0 AND s.ts >= :from AND s.ts < :to GROUP BY s.name, t.cpu "   \
	"ORDER BY total_ns DESC LIMIT :top"

static const struct report_section sections[] = {
	{"Interrupts", NULL, SQL_INTERRUPTS("'cpu_irq'")},
	{"Softirqs", NULL, SQL_INTERRUPTS("'cpu_softirq'")},
	{"Timers", NULL, SQL_INTERRUPTS("'cpu_hrtimer'")},
};

REPORT(report_irq, "irq", "time in interrupts, softirqs and timers, by CPU", sections);
