/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report io: requests to block devices. */
#include "analyze/report/counters_sql.h"
#include "analyze/report/io_sql.h"
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

#define SQL_IO_COLUMNS                                                                             \
	", " SQL_OP ", n AS requests, bytes AS size_bytes, CAST(1e9 * bytes / (:to - :from) AS "   \
	"INTEGER) AS per_s_bytes, queued / n AS queued_ns, total / n AS mean_ns, p50 AS p50_ns, "  \
	"p99 AS p99_ns, worst AS max_ns FROM "

#define SQL_IO_ORDER "ORDER BY bytes DESC, n DESC LIMIT :top + :more"

/* The sum of the counters diskstat.[DEVICE].NAME whose NAME is this one. */
#define SQL_DISKSTAT(name) "sum(iif(t.name GLOB '*." name "', c.value, 0))"

static const struct report_section sections[] =
	{
	{.by = "device",
	 .title = "Devices",
	 .sql = "SELECT " SQL_DEVICE " AS device" SQL_IO_COLUMNS "(SELECT who AS dev, * FROM "
		"requests_by('device')) " SQL_IO_ORDER},
	{.title = "Requests without an end",
	 .note = "not counted in the other tables",
	 .sql = "SELECT " SQL_DEVICE " AS device, " SQL_OP ", n AS requests, bytes AS size_bytes "
		"FROM (SELECT dev, op, count(*) AS n, sum(bytes) AS bytes FROM "
		"unfinished_requests GROUP BY 1, 2) ORDER BY n DESC, bytes DESC LIMIT :top + "
		":more"},
	{.by = "process",
	 .title = "Processes",
	 .sql = "SELECT " SQL_PROCESS SQL_IO_COLUMNS "requests_by('process')"
		SQL_PROCESS_FROM SQL_IO_ORDER},
	{.by = "thread",
	 .on_request = true,
	 .title = "Threads",
	 .sql = "SELECT " SQL_WHO SQL_IO_COLUMNS "requests_by('thread') JOIN thread ON utid = who "
		"LEFT JOIN process USING (upid) " SQL_IO_ORDER},
	{.title = "Slowest requests",
	 .sql = "SELECT dur AS took_ns, queued AS queued_ns, ts AS at_ts, " SQL_DEVICE " AS "
		"device, " SQL_OP ", bytes AS size_bytes, sector, " SQL_WHO " FROM "
		"longest_requests('', :top + :more)" SQL_WHO_FROM "ORDER BY dur DESC"},
	{.title = "All requests",
	 .sql = "WITH h AS (SELECT who AS length, n FROM requests_by('length')) "
		SQL_HISTOGRAM("requests")},
	{.by = "disk",
	 .title = "Disks, by the kernel's counters",
	 .of_machine = true,
	 .more = "counters",
	 .sql = "WITH d AS (SELECT substr(t.name, 11, instr(t.name, '].') - 11) AS disk, "
		SQL_DISKSTAT("read_amount") " AS r, " SQL_DISKSTAT("write_amount") " AS w, "
		SQL_DISKSTAT("discard_amount") " AS d, " SQL_DISKSTAT("flush_amount") " AS f "
		"FROM __intrinsic_track t CROSS JOIN counter c ON c.track_id = t.id WHERE t.type = "
		"'diskstat' AND c.ts >= :from AND c.ts <= :to GROUP BY 1) SELECT disk, CAST(r * "
		"1048576 AS INTEGER) AS read_bytes, CAST(w * 1048576 AS INTEGER) AS "
		"written_bytes, CAST(d * 1048576 AS INTEGER) AS discarded_bytes, CAST(f AS "
		"INTEGER) AS flushes FROM d WHERE r + w + d + f > 0 ORDER BY r + w DESC LIMIT "
		":top + :more"},
	{.title = "Stalls",
	 .of_machine = true,
	 .note = "time in which threads waited for I/O",
	 .sql = SQL_PRESSURE("psi.io.*")},
};

REPORT(report_io, "io", "requests to disks: by device and process, bytes, latencies", "io",
       sections);
