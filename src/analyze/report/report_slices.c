/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report slices: the slices of the trace by name. */
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

#define SQL_GROUP_COLUMNS                                                                          \
	", n AS times, total AS total_ns, self AS self_ns, p50 AS p50_ns, p99 AS p99_ns, worst "   \
	"AS max_ns, worst_ts AS max_at_ts FROM "

static const struct report_section sections[] = {
	{.by = "name",
	 .title = "Slices",
	 .sql = "SELECT name" SQL_GROUP_COLUMNS "slices_by('name') ORDER BY total DESC, name "
		"LIMIT :top + :more"},
	{.by = "track",
	 .on_request = true,
	 .title = "Slices, by track",
	 .sql = "SELECT g.name, coalesce(t.name, (SELECT " SQL_THREAD("h") " FROM thread h WHERE "
		"h.utid = t.utid), t.type) AS track" SQL_GROUP_COLUMNS "slices_by('track') g "
		"JOIN __intrinsic_track t ON t.id = g.track_id ORDER BY total DESC, t.id, "
		"g.name LIMIT :top + :more"},
	{.by = "thread",
	 .on_request = true,
	 .title = "Slices, by thread",
	 .sql = "SELECT " SQL_WHO SQL_GROUP_COLUMNS "slices_by('thread') JOIN thread ON utid = "
		"track_id LEFT JOIN process USING (upid) ORDER BY total DESC, utid LIMIT :top + "
		":more"},
	{.by = "process",
	 .on_request = true,
	 .title = "Slices, by process",
	 .sql = "SELECT " SQL_PROCESS SQL_GROUP_COLUMNS "(SELECT *, track_id AS who FROM "
		"slices_by('process'))" SQL_PROCESS_FROM "ORDER BY total DESC, who LIMIT :top + "
		":more"},
	{.title = "Slices that did not end",
	 .sql = "SELECT name, count(*) AS times, min(ts) AS first_ts FROM slice WHERE dur < 0 "
		"AND ts >= :from AND ts < :to AND NOT (SELECT some FROM asked) GROUP BY name "
		"ORDER BY 2 DESC LIMIT :top + :more"},
};

REPORT(report_slices, "slices", "slices by name: times, total, self time, p50, p99, the longest",
       "syscalls", sections);
