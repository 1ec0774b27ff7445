/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda report wakeups: which threads wake which, how often, and how long the woken thread waits
 * for a CPU then.
 */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* The columns of a pair of waker and woken: a row p of wakes_by. */
#define SQL_PAIR_COLUMNS                                                                           \
	", n AS wakeups, 1e9 * n / (:to - :from) AS per_s, total / n AS wait_mean_ns, p50 AS "     \
	"wait_p50_ns, p99 AS wait_p99_ns, worst AS wait_max_ns FROM "

#define SQL_PAIR_ORDER "ORDER BY n DESC, p.waker, p.woken LIMIT :top + :more"

#define SQL_PROCESS_OF(key)                                                                        \
	"iif(" key " IS NULL, '(interrupt)', coalesce((SELECT coalesce(name, '') || ' ' || pid "   \
	"FROM process WHERE upid = " key "), (SELECT coalesce(name, '') || ' ' || tid FROM "       \
	"thread WHERE utid = -1 - " key ")))"

static const struct report_section sections[] = {
	{.by = "thread",
	 .title = "Who wakes whom",
	 .more = "why",
	 .sql = "SELECT coalesce((SELECT " SQL_THREAD("f") " FROM thread f WHERE f.utid = p.waker), "
		"'(interrupt)') AS waker, (SELECT " SQL_THREAD("t") " FROM thread t WHERE t.utid "
		"= p.woken) AS wakes" SQL_PAIR_COLUMNS "wakes_by('thread') p " SQL_PAIR_ORDER},
	{.by = "process",
	 .on_request = true,
	 .title = "Which process wakes which",
	 .sql = "SELECT " SQL_PROCESS_OF("p.waker") " AS waker, " SQL_PROCESS_OF("p.woken") " AS "
		"wakes" SQL_PAIR_COLUMNS "wakes_by('process') p " SQL_PAIR_ORDER},
	{.by = "program",
	 .on_request = true,
	 .title = "Which program wakes which",
	 .sql = "SELECT coalesce(p.waker, '(interrupt)') AS waker, p.woken AS wakes"
		SQL_PAIR_COLUMNS "wakes_by('program') p " SQL_PAIR_ORDER},
	{.by = "interrupt",
	 .title = "Which interrupts wake threads",
	 .more = "irq",
	 .sql = "SELECT name AS interrupt, sum(n) AS wakeups, count(*) AS threads FROM "
		"interrupt_wakes WHERE name IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT :top + "
		":more"},
};

REPORT(report_wakeups, "wakeups", "who wakes whom: how often, and the waits for a CPU that follow",
       "sched", sections);
