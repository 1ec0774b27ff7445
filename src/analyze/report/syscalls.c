/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report syscalls: the columns of strace -c, and the slowest calls. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* calls(utid, name, ts, dur, ret): those that returned within the window. */
#define SQL_CALLS                                                                                  \
	"calls AS (SELECT t.utid, substr(s.name, 5) AS name, s.ts, s.dur, "                        \
	"extract_arg(s.arg_set_id, 'ret') AS ret FROM slice s JOIN thread_track t ON t.id = "      \
	"s.track_id WHERE s.name GLOB 'sys_*' AND s.dur >= 0 AND s.ts >= :from AND s.ts + s.dur "  \
	"<= :to AND t.type = 'thread_execution')"

static const struct report_section sections[] = {
	{"System calls", NULL,
	 "WITH " SQL_CALLS ", " SQL_CHOSEN
	 ", c AS (SELECT * FROM calls WHERE utid IN chosen) SELECT 100.0 * sum(dur) / (SELECT "
	 "sum(dur) FROM c) AS time_pct, sum(dur) AS total_ns, sum(dur) / count(*) AS mean_ns, "
	 "max(dur) AS max_ns, count(*) AS calls, sum(ret BETWEEN -4095 AND -1) AS errors, name AS "
	 "syscall FROM c GROUP BY name ORDER BY total_ns DESC LIMIT :top"},
	{"Slowest calls", NULL,
	 "WITH " SQL_CALLS ", " SQL_CHOSEN
	 ", c AS (SELECT * FROM calls WHERE utid IN chosen ORDER BY dur DESC LIMIT :top) SELECT "
	 "dur AS took_ns, ts AS at_ts, c.name AS syscall, ret, " SQL_WHO " FROM c" SQL_WHO_FROM
	 "ORDER BY dur DESC"},
};

REPORT(report_syscalls, "syscalls", "system calls: times, errors, and the slowest", sections);
