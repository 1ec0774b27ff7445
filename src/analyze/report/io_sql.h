/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of statements about requests to block devices. */

/* It cannot break statements that have macros in them: */
/* clang-format off */

/* The number of a device as user space knows it: major:minor. */
#define SQL_DEVICE "((dev >> 8) & 4095) || ':' || ((dev & 255) | ((dev >> 12) & 1048320))"

/*
 * requests(dev, op, bytes, sector, utid, queued, ts, dur): requests to block devices that were
 * complete within the window. A request is a block_rq_issue and the block_rq_complete of the same
 * device and sector that follows; a block_rq_insert before it tells who asked for it, and how long
 * it was queued.
 */
#define SQL_REQUESTS                                                                               \
	"ev AS (SELECT id, ts, utid, substr(name, 10) AS what, extract_arg(arg_set_id, 'dev') "    \
	"AS dev, extract_arg(arg_set_id, 'sector') AS sector, extract_arg(arg_set_id, "            \
	"'nr_sector') AS sectors, extract_arg(arg_set_id, 'rwbs') AS rwbs FROM ftrace_event "      \
	"WHERE name IN ('block_rq_insert', 'block_rq_issue', 'block_rq_complete')), seq AS "       \
	"(SELECT *, lag(what) OVER w AS what1, lag(ts) OVER w AS ts1, lag(utid) OVER w AS "        \
	"utid1, lag(what, 2) OVER w AS what2, lag(ts, 2) OVER w AS ts2, lag(utid, 2) OVER w AS "   \
	"utid2, lag(sectors) OVER w AS sectors1 FROM ev WINDOW w AS (PARTITION BY dev, sector "    \
	"ORDER BY ts, id)), requests AS MATERIALIZED (SELECT dev, CASE WHEN rwbs GLOB 'R*' "       \
	"THEN 'read' WHEN rwbs GLOB 'W*' OR rwbs GLOB 'FW*' THEN 'write' WHEN rwbs GLOB 'D*' "     \
	"THEN 'discard' WHEN rwbs GLOB 'F*' THEN 'flush' ELSE 'other' END AS op, 512 * "           \
	"sectors1 AS bytes, sector, iif(what2 = 'insert', utid2, utid1) AS utid, iif(what2 = "     \
	"'insert', ts1 - ts2, 0) AS queued, ts1 AS ts, ts - ts1 AS dur FROM seq WHERE what = "     \
	"'complete' AND what1 = 'issue' AND ts1 >= :from AND ts <= :to AND iif(what2 = "           \
	"'insert', utid2, utid1) IN (SELECT utid FROM chosen UNION ALL SELECT utid FROM thread "   \
	"WHERE is_idle AND NOT (SELECT some FROM asked)))"
