/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report wakeups: who wakes whom, how often, and how long the woken thread waits for a
 * CPU then. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* It cannot break statements that have macros in them: */
/* clang-format off */

/*
 * wakes(waker, utid, dur): wakeups in the window of or by a chosen thread. The waker of a wakeup
 * in an interrupt is NULL: the thread that ran then has no part in it.
 */
#define SQL_WAKES                                                                                  \
	"wakes AS (SELECT iif(k.irq_context = 1 OR w.is_idle, NULL, k.waker_utid) AS waker, "      \
	"k.utid, k.dur FROM thread_state k LEFT JOIN thread w ON w.utid = k.waker_utid WHERE "     \
	"k.waker_utid IS NOT NULL AND k.ts >= :from AND k.ts < :to AND k.dur >= 0 AND (k.utid "    \
	"IN chosen OR k.waker_utid IN chosen))"

/* from_key, to_key: who woke whom; grp(utid, who) has the keys. */
#define SQL_PAIRS(group)                                                                           \
	"WITH " SQL_WAKES ", " group ", pairs AS (SELECT f.who AS waker, t.who AS woken, dur "     \
	"FROM wakes JOIN grp t ON t.utid = wakes.utid LEFT JOIN grp f ON f.utid = "                \
	"wakes.waker), ranked AS (SELECT *, " SQL_RANKS("waker, woken", "dur") " FROM pairs), "    \
	"p AS (SELECT waker, woken, n, sum(dur) / n AS mean, " SQL_P50("dur") " AS p50, "          \
	SQL_P99("dur") " AS p99, max(dur) AS worst FROM ranked GROUP BY waker, woken) "

#define SQL_PAIR_COLUMNS                                                                           \
	", n AS wakeups, 1e9 * n / (:to - :from) AS per_s, mean AS wait_mean_ns, p50 AS "          \
	"wait_p50_ns, p99 AS wait_p99_ns, worst AS wait_max_ns FROM p "

#define SQL_PROCESS_OF(key)                                                                        \
	"iif(" key " IS NULL, '(interrupt)', coalesce((SELECT coalesce(name, '') || ' ' || pid "   \
	"FROM process WHERE upid = " key "), (SELECT coalesce(name, '') || ' ' || tid FROM "       \
	"thread WHERE utid = -1 - " key ")))"

static const struct report_section sections[] = {
	{.by = "thread",
	 .title = "Who wakes whom",
	 .more = "why",
	 .sql = SQL_PAIRS("grp AS (SELECT utid, utid AS who FROM thread)") "SELECT "
		"coalesce((SELECT " SQL_THREAD("f") " FROM thread f WHERE f.utid = waker), "
		"'(interrupt)') AS waker, (SELECT " SQL_THREAD("t") " FROM thread t WHERE t.utid "
		"= woken) AS wakes" SQL_PAIR_COLUMNS "ORDER BY n DESC LIMIT :top + :more"},
	{.by = "process",
	 .on_request = true,
	 .title = "Which process wakes which",
	 .sql = SQL_PAIRS(SQL_BY_PROCESS) "SELECT " SQL_PROCESS_OF("waker") " AS waker, "
		SQL_PROCESS_OF("woken") " AS wakes" SQL_PAIR_COLUMNS "ORDER BY n DESC LIMIT :top "
		"+ :more"},
	{.by = "program",
	 .on_request = true,
	 .title = "Which program wakes which",
	 .sql = SQL_PAIRS(SQL_BY_PROGRAM) "SELECT coalesce(waker, '(interrupt)') AS waker, woken "
		"AS wakes" SQL_PAIR_COLUMNS "ORDER BY n DESC LIMIT :top + :more"},
	{.by = "interrupt",
	 .title = "Which interrupts wake threads",
	 .more = "irq",
	 .sql = "WITH k AS (SELECT k.ts, k.utid, q.ucpu AS cpu FROM thread_state k JOIN "
		"thread_state q ON q.id = k.waker_id WHERE k.irq_context = 1 AND k.utid IN "
		"chosen AND k.ts >= :from AND k.ts < :to), i AS (SELECT k.utid, (SELECT s.name "
		"FROM cpu_track t JOIN slice s ON s.id = (SELECT id FROM slice WHERE track_id = "
		"t.id AND ts <= k.ts ORDER BY ts DESC LIMIT 1) WHERE t.cpu = k.cpu AND t.type IN "
		"('cpu_irq', 'cpu_softirq', 'cpu_hrtimer') AND s.dur >= 0 AND s.ts + s.dur >= "
		"k.ts ORDER BY s.ts DESC LIMIT 1) AS interrupt FROM k) SELECT interrupt, "
		"count(*) AS wakeups, count(DISTINCT utid) AS threads FROM i WHERE interrupt IS "
		"NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT :top + :more"},
};

REPORT(report_wakeups, "wakeups", "who wakes whom: how often, and the waits for a CPU that follow",
       "sched", sections);
