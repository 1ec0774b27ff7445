/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report slices: the slices of the trace by name. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* It cannot break statements that have macros in them: */
/* clang-format off */

/*
 * spans(name, dur, self, utid): slices that ended within the window; all of them, or those of the
 * chosen threads if some were asked for. self: without the slices in them.
 */
#define SQL_SPANS                                                                                  \
	"inner_time AS (SELECT parent_id AS id, sum(dur) AS dur FROM slice WHERE parent_id IS "    \
	"NOT NULL AND dur > 0 GROUP BY parent_id), spans AS (SELECT s.name, s.ts, s.track_id, "    \
	"s.dur, s.dur - coalesce(i.dur, 0) AS self FROM slice s LEFT JOIN inner_time i ON i.id "   \
	"= s.id WHERE s.dur >= 0 AND s.ts >= :from AND s.ts + s.dur <= :to AND (NOT (SELECT "      \
	"some FROM asked) OR s.track_id IN (SELECT id FROM thread_track WHERE utid IN chosen "     \
	"UNION SELECT id FROM process_track WHERE upid IN (SELECT upid FROM thread WHERE utid "    \
	"IN chosen))))"

#define SQL_GROUP(key)                                                                             \
	", ranked AS (SELECT *, " SQL_RANKS(key, "dur") " FROM spans), g AS (SELECT " key ", "     \
	"n, sum(dur) AS total, sum(self) AS self, " SQL_P50("dur") " AS p50, " SQL_P99("dur")      \
	" AS p99, max(dur) AS worst, max(iif(k = n, ts, 0)) AS worst_ts FROM ranked GROUP BY "     \
	key ") "

#define SQL_GROUP_COLUMNS                                                                          \
	", n AS times, total AS total_ns, self AS self_ns, p50 AS p50_ns, p99 AS p99_ns, worst "   \
	"AS max_ns, worst_ts AS max_at_ts FROM g "

static const struct report_section sections[] = {
	{.by = "name",
	 .title = "Slices",
	 .sql = "WITH " SQL_SPANS SQL_GROUP("name") "SELECT name" SQL_GROUP_COLUMNS "ORDER BY "
		"total DESC LIMIT :top + :more"},
	{.by = "track",
	 .on_request = true,
	 .title = "Slices, by track",
	 .sql = "WITH " SQL_SPANS SQL_GROUP("name, track_id") "SELECT g.name, coalesce(t.name, "
		"(SELECT " SQL_THREAD("h") " FROM thread h WHERE h.utid = t.utid), t.type) AS "
		"track" SQL_GROUP_COLUMNS "JOIN __intrinsic_track t ON t.id = g.track_id ORDER "
		"BY total DESC LIMIT :top + :more"},
	{.title = "Slices that did not end",
	 .sql = "SELECT name, count(*) AS times, min(ts) AS first_ts FROM slice WHERE dur < 0 "
		"AND ts >= :from AND ts < :to AND NOT (SELECT some FROM asked) GROUP BY name "
		"ORDER BY 2 DESC LIMIT :top + :more"},
};

REPORT(report_slices, "slices", "slices by name: times, total, self time, p50, p99, the longest",
       "syscalls", sections);
