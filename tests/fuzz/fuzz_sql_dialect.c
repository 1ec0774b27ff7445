/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dialect/database.h"
#include "analyze/store/table_defs.h"

/*
 * The bytes as statements of SQL: those of the dialect, and macros. Each is prepared, and none runs for
 * long.
 */

#define MUST(condition) ((condition) ? (void)0 : abort())
#define STEPS_MAX 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROGRESS_MAX 20 /* in 10,000 steps of SQLite's machine */

static int stop(void *calls)
{
	return ++*(int *)calls > PROGRESS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct err_text e = {""};
	struct database *d;
	struct store s;
	size_t at = 0;
	int calls = 0;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	store_init(&s, 16u << 20);
	if (database_open(&s, &d) == 0) {
		sqlite3_progress_handler(database_sqlite(d), 10000, stop, &calls);
		sqlite3_limit(database_sqlite(d), SQLITE_LIMIT_LENGTH, 1 << 20);
		while (text[at] && calls <= PROGRESS_MAX) {
			size_t before = at;
			sqlite3_stmt *st = NULL;
			int r = database_prepare(d, text, &at, &st, &e);

			MUST(at > before && at <= strlen(text));
			MUST(r == 0 || (r < 0 && *e.text && !st));
			for (int i = 0; st && i < STEPS_MAX && sqlite3_step(st) == SQLITE_ROW; i++)
				;
			sqlite3_finalize(st);
		}
		database_close(d);
	}
	store_deinit(&s);
	free(text);
	return 0;
}
