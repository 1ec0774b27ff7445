/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "analyze/store/store.h"
#include "base/core/err.h"

/*
 * An SQLite database in memory whose tables are those of the store: virtual tables that read the
 * store's columns, and views on them. It runs the statements of trace_processor's dialect, too.
 */
struct database;

/* Returns 0 with *ret, which the caller closes before it frees the store; or -ENOMEM. */
int database_open(struct store *s, struct database **ret);
/* d may be NULL. Statements must be finalized before. */
void database_close(struct database *d);
/* For statements that SQLite knows. */
sqlite3 *database_sqlite(struct database *d);

/* Modules come from this folder, or from the one of them in a checkout of Perfetto, before those of
 * this program. Returns 0, or -errno and sets e. */
int database_use_modules(struct database *d, const char *folder, struct err_text *e);

/* Functions of such a folder's modules whose statements need what is not here are left out. Writes a
 * sentence about those since the last call; returns false if there are none. */
bool database_take_left_out(struct database *d, struct err_text *ret);

/*
 * Prepares the first statement of a text from byte *at on, as sqlite3_prepare_v2() does; the caller
 * finalizes *ret. It expands macros, and runs these statements at once:
 *
 *	CREATE [OR REPLACE] PERFETTO TABLE, VIEW, FUNCTION, MACRO, INDEX; DROP PERFETTO INDEX
 *	INCLUDE PERFETTO MODULE
 *
 * *ret is NULL if there is nothing left to run. *at is set to the place after the statement, also
 * after a mistake in it. Returns 0; or -EINVAL, -EINTR (sqlite3_interrupt()) or -ENOMEM, and sets e,
 * which names the line and the column.
 */
int database_prepare(struct database *d, const char *text, size_t *at, sqlite3_stmt **ret,
		     struct err_text *e);
