/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report latency: how long threads waited for a CPU. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

static const struct report_section sections[] = {
	{"Waits for a CPU, by thread", NULL,
	 "WITH " SQL_WAITS ", " SQL_CHOSEN
	 ", ranked AS (SELECT utid, ts, dur, woken, row_number() OVER (PARTITION BY utid ORDER BY "
	 "dur) AS k, count(*) OVER (PARTITION BY utid) AS n FROM waits WHERE utid IN chosen), t AS "
	 "(SELECT utid, n, sum(woken) AS wakeups, sum(dur) AS total, max(iif(k = (n + 1) / 2, dur, "
	 "0)) AS p50, max(iif(k = (n * 99 + 99) / 100, dur, 0)) AS p99, max(iif(k = n, dur, 0)) AS "
	 "worst, max(iif(k = n, ts, 0)) AS worst_ts FROM ranked GROUP BY utid) SELECT " SQL_WHO
	 ", wakeups, n - wakeups AS preempted, total / n AS mean_ns, p50 AS p50_ns, p99 AS p99_ns, "
	 "worst AS max_ns, worst_ts AS max_at_ts FROM t" SQL_WHO_FROM
	 "ORDER BY worst DESC LIMIT :top"},
	{"Longest waits", NULL, SQL_WORST_WAITS},
	{"All waits", NULL,
	 "WITH " SQL_WAITS ", " SQL_CHOSEN
	 ", b AS (SELECT CASE WHEN dur < 1000 THEN 0 ELSE 1 + CAST(ln(dur / 1000) / ln(2) AS "
	 "INTEGER) END AS bucket FROM waits WHERE utid IN chosen), h AS (SELECT bucket, count(*) "
	 "AS n FROM b GROUP BY bucket) SELECT iif(bucket = 0, 0, 1000 << (bucket - 1)) AS from_ns, "
	 "1000 << bucket AS to_ns, n AS waits, substr('########################################', "
	 "1, max(1, 40 * n / (SELECT max(n) FROM h))) AS share FROM h ORDER BY bucket"},
};

REPORT(report_latency, "latency",
       "how long threads waited for a CPU: p50, p99, the longest, and behind whom", sections);
