/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file of any bytes, in the form of sonda export that the last byte selects. JSON must be
 * valid, and each line of folded stacks must end in a positive number.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/dialect/database.h"
#include "analyze/report/chosen.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/export/export.h"
#include "cli/export/export_dir.h"
#include "cli/trace/out_path.h"
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) ((condition) ? (void)0 : abort())

static void check_json(const char *text, size_t len, sqlite3 *db)
{
	sqlite3_stmt *st;

	MUST(sqlite3_prepare_v2(db, "select json_valid(?1)", -1, &st, NULL) == SQLITE_OK);
	sqlite3_bind_text64(st, 1, text, len, SQLITE_STATIC, SQLITE_UTF8);
	MUST(sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 1);
	sqlite3_finalize(st);
}

static void check_folded(const char *text, size_t len, sqlite3 *db)
{
	(void)db;
	for (const char *line = text, *end; line < text + len; line = end + 1) {
		const char *number;

		end = memchr(line, '\n', (size_t)(text + len - line));
		MUST(end);
		number = memrchr(line, ' ', (size_t)(end - line));
		MUST(number && number > line && number[1] >= '1' && number[1] <= '9');
	}
}

static void check_gzip(const char *text, size_t len, sqlite3 *db)
{
	(void)db;
	MUST(len > 2 && !memcmp(text, "\x1f\x8b", 2));
}

static int (*const archives[])(const struct trace_tables *t, const struct export_dir *to,
			       struct err_text *e) = {export_csv, export_csv_sheet, export_parquet};

static const struct {
	int (*write)(const struct trace_tables *t, FILE *to);
	void (*check)(const char *text, size_t len, sqlite3 *db);
} texts[] = {
	{export_json, check_json},	     {export_folded_slices, check_folded},
	{export_folded_sched, check_folded}, {export_folded_stacks, check_folded},
	{export_folded_waits, check_folded}, {export_folded_wakers, check_folded},
	{export_pprof_stacks, check_gzip},   {export_pprof_waits, check_gzip},
	{export_pprof_wakers, check_gzip},
};

static void write_text(const struct trace_tables *t, size_t form)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	int r;

	MUST(to && chosen_use_titles(t->db) == SQLITE_OK);
	r = texts[form].write(t, to);
	MUST(fclose(to) == 0);
	if (r == SQLITE_OK)
		texts[form].check(text, len, t->db);
	free(text);
}

static void write_archive(const struct trace_tables *t, size_t form)
{
	char *bytes = NULL;
	size_t len = 0;
	struct export_dir to = {.tar = open_memstream(&bytes, &len), .path = "archive"};
	struct err_text e;

	MUST(to.tar);
	archives[form](t, &to, &e);
	export_dir_finish(&to);
	MUST(fclose(to.tar) == 0 && len % 512 == 0);
	free(bytes);
}

/* The database has the name that struct out_path gives a hidden file. */
static void write_sqlite(const struct trace_tables *t)
{
	char path[4096];
	struct out_path out = {.path = "database"};
	struct err_text e;

	snprintf(path, sizeof(path), "%s/fuzz_export_XXXXXX", fs_temp_dir());
	MUST(mkdtemp(path));
	out.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(out.dir >= 0);
	fclose(out_path_open(&out, "output"));
	export_sqlite(t, &out, &e);
	MUST(sqlite3_exec(t->db, "detach out", NULL, NULL, NULL) == SQLITE_OK);
	MUST(unlinkat(out.dir, "output", 0) == 0 && rmdir(path) == 0);
	close(out.dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n_forms = ARRAY_SIZE(texts) + ARRAY_SIZE(archives) + 1;
	struct trace_tables t = {.path = "input"};
	size_t form;

	if (!size)
		return 0;
	form = data[size - 1] % n_forms;
	if (fill_store_from_bytes(&t.store, data, size - 1, &t.result) &&
	    database_open(&t.store, &t.database) == 0) {
		t.db = database_sqlite(t.database);
		if (form < ARRAY_SIZE(texts))
			write_text(&t, form);
		else if (form < ARRAY_SIZE(texts) + ARRAY_SIZE(archives))
			write_archive(&t, form - ARRAY_SIZE(texts));
		else
			write_sqlite(&t);
	}
	database_close(t.database);
	store_deinit(&t.store);
	return 0;
}
