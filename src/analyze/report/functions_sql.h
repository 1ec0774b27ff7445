/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* samples(utid, site, cpu_mode): those of the chosen threads within the window. Samples without a
 * call stack only have values of counters. */
#define SQL_SAMPLES                                                                                \
	"samples AS (SELECT utid, callsite_id AS site, cpu_mode FROM perf_sample WHERE ts >= "     \
	":from AND ts < :to AND utid IN chosen AND callsite_id IS NOT NULL)"

/*
 * Rows by function, the one with most samples of its own first.
 *
 *	hits	number of samples of each innermost call site
 *	up	this call site and those above it
 *	named	function and file of each frame
 *	seen	the functions of each stack, each once
 */
#define SQL_FUNCTIONS                                                                              \
	"WITH RECURSIVE " SQL_SAMPLES ", hits AS MATERIALIZED (SELECT site, count(*) AS n FROM "   \
	"samples GROUP BY site), up(site, at) AS (SELECT site, site FROM "  \
	"hits UNION ALL SELECT up.site, c.parent_id FROM up JOIN stack_profile_callsite c ON "     \
	"c.id = up.at WHERE c.parent_id IS NOT NULL), named AS MATERIALIZED (SELECT f.id AS "      \
	"frame, coalesce(f.name, '(no name)') AS function, replace(m.name, "               \
	"rtrim(m.name, replace(m.name, '/', '')), '') AS file FROM stack_profile_frame f JOIN "    \
	"stack_profile_mapping m ON m.id = f.mapping), seen AS (SELECT DISTINCT up.site, "         \
	"function, file FROM up JOIN stack_profile_callsite c ON c.id = up.at JOIN named ON "      \
	"frame = c.frame_id), total AS (SELECT function, file, sum(n) AS total FROM seen JOIN "    \
	"hits USING (site) GROUP BY 1, 2), own AS (SELECT function, file, sum(n) AS own FROM "     \
	"hits JOIN stack_profile_callsite c ON c.id = site JOIN named ON frame = c.frame_id "      \
	"GROUP BY 1, 2), whole AS (SELECT sum(n) AS n FROM hits) SELECT coalesce(own, 0) AS self," \
	" 100.0 * coalesce(own, 0) / n AS self_pct, total, 100.0 * total / n AS total_pct, "       \
	"function, file FROM total LEFT JOIN own USING (function, file), whole ORDER BY self "     \
	"DESC, total DESC, function "
