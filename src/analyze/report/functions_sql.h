/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* samples(utid, site, cpu_mode): those of the chosen threads within the window. Samples without a
 * call stack only have values of counters. */
#define SQL_SAMPLES                                                                                \
	"samples AS (SELECT utid, callsite_id AS site, cpu_mode FROM perf_sample WHERE ts >= "     \
	":from AND ts < :to AND utid IN chosen AND callsite_id IS NOT NULL)"

/* Rows by function, the one with most samples of its own first. The name of a file is at most 255
 * bytes long. */
#define SQL_FUNCTIONS                                                                              \
	"WITH " SQL_SAMPLES ", whole AS (SELECT count(*) AS n FROM samples), named AS (SELECT "    \
	"own, total, coalesce(f.name, '(no name)') AS function, "                                  \
	"substr(m.name, -256) AS path FROM functions_by b JOIN stack_profile_frame f ON f.id = "   \
	"b.frame JOIN stack_profile_mapping m ON m.id = f.mapping) SELECT own AS self, 100.0 * "   \
	"own / n AS self_pct, total, 100.0 * total / n AS total_pct, function, replace(path, "     \
	"rtrim(path, replace(path, '/', '')), '') AS file FROM named, whole ORDER BY self DESC, "  \
	"total DESC, function "
