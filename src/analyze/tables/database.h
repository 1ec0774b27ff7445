/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "analyze/store/store.h"
#include "base/core/err.h"

/*
 * Opens an SQLite database in memory whose tables are those of the store: virtual tables that read
 * the store's columns, and views on them. Returns 0 with *ret_db, which the caller closes with
 * sqlite3_close() before it frees the store; or -ENOMEM.
 */
int database_open(struct store *s, sqlite3 **ret_db);

/*
 * Prepares the first statement of a text, as sqlite3_prepare_v2() does; the caller finalizes *ret.
 * It also knows CREATE PERFETTO TABLE and VIEW, and INCLUDE PERFETTO MODULE; it runs the latter, and
 * CREATE OR REPLACE, at once.
 * *ret is NULL if there is nothing left to run. *ret_tail is the text after the statement. Returns
 * 0, or -EINVAL or -ENOMEM and sets e.
 */
int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, const char **ret_tail,
		     struct err_text *e);
