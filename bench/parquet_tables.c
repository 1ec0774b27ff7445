/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: parquet_tables TRACE DIR TABLE...
 *
 * Writes tables of a trace into a new directory, as "sonda export --parquet" does. Prints for each
 * one its rows, and the CPU time in ns a row, without the import of the trace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/export/export.h"
#include "cli/export/export_dir.h"
#include "cli/trace/out_path.h"

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t count_rows(sqlite3 *db, const char *table)
{
	_cleanup_(sqlite3_finalizep) sqlite3_stmt *st = NULL;
	char sql[128];

	snprintf(sql, sizeof(sql), "select count(*) from \"%.64s\"", table);
	return sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
			       sqlite3_step(st) == SQLITE_ROW
		       ? sqlite3_column_int64(st, 0)
		       : 0;
}

int main(int argc, char **argv)
{
	struct trace_tables t;
	struct out_path out = {0};
	struct export_dir to = {.out = &out, .path = argv[argc > 2 ? 2 : 0]};
	struct err_text e;
	int r;

	if (argc < 4) {
		fprintf(stderr, "usage: parquet_tables TRACE DIR TABLE...\n");
		return EXIT_FAILURE;
	}
	r = trace_tables_open(argv[1], 0, &t, &e) ?: out_path_create(&out, argv[2], true, true, &e);
	for (int i = 3; r == 0 && i < argc; i++) {
		const struct parquet_choice choice = {
			.tables = (const char *const *)&argv[i], .n_tables = 1, .uuid = "none"};
		int64_t rows = count_rows(t.db, argv[i]);
		double before = cpu_seconds();

		r = export_parquet_chosen(&t, &choice, &to, &e);
		if (r == 0 && rows)
			printf("%-16s %10" PRId64 " rows %7.1f ns a row\n", argv[i], rows,
			       (cpu_seconds() - before) * 1e9 / (double)rows);
	}
	r = r ?: out_path_finish(&out, &e);
	if (r < 0)
		fprintf(stderr, "parquet_tables: %s\n", e.text);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
