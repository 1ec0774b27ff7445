/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "analyze/store/store.h"
#include "base/core/err.h"

/*
 * An SQLite database in memory whose tables are those of the store: virtual tables that read its
 * columns, and views on them. Returns 0 with *ret_db, which the caller closes with sqlite3_close()
 * before the store is freed; or -ENOMEM.
 */
int database_open(struct store *s, sqlite3 **ret_db);

/*
 * Prepares the first statement of a text, as sqlite3_prepare_v2() does. It also knows INCLUDE
 * PERFETTO MODULE and CREATE PERFETTO TABLE and VIEW. *ret is NULL if there is nothing to run.
 * Returns 0, or -EINVAL and sets e.
 */
int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, const char **ret_rest,
		     struct err_text *e);
