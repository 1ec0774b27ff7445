/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report functions: the functions that samples of call stacks found running. */
#include "analyze/report/functions_sql.h"
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

static const struct report_section sections[] = {
	{.by = "function",
	 .title = "Functions",
	 .note = "self: samples in the function itself; total: also in those that it called",
	 .sql = SQL_FUNCTIONS "LIMIT :top + :more"},
	{.by = "process",
	 .on_request = true,
	 .title = "Samples, by process",
	 .sql = "WITH " SQL_BY_PROCESS ", " SQL_SAMPLES ", t AS (SELECT who, count(*) AS n, "
		"sum(cpu_mode = 'kernel') AS kernel FROM samples JOIN grp USING (utid) GROUP BY "
		"who) SELECT " SQL_PROCESS ", n AS samples, 100.0 * n / (SELECT count(*) FROM "
		"samples) AS samples_pct, 100.0 * kernel / n AS in_kernel_pct FROM t"
		SQL_PROCESS_FROM "ORDER BY n DESC LIMIT :top + :more"},
	{.by = "thread",
	 .on_request = true,
	 .title = "Samples, by thread",
	 .sql = "WITH " SQL_SAMPLES ", t AS (SELECT utid, count(*) AS n, sum(cpu_mode = 'kernel') "
		"AS kernel FROM samples GROUP BY utid) SELECT " SQL_WHO ", n AS samples, 100.0 * "
		"n / (SELECT count(*) FROM samples) AS samples_pct, 100.0 * kernel / n AS "
		"in_kernel_pct FROM t" SQL_WHO_FROM "ORDER BY n DESC LIMIT :top + :more"},
};

REPORT(report_functions, "functions", "functions that ran, from samples of call stacks", "stacks",
       sections);
