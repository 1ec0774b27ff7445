/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "analyze/store/store.h"
#include "base/core/err.h"

/* An SQLite database in memory whose tables are those of the store: virtual tables that read the
 * store's columns, and views on them. It also runs the statements of trace_processor's dialect. */
struct database;

/* Returns 0 with *ret, which the caller closes before it frees the store; or -ENOMEM. */
int database_open(struct store *s, struct database **ret);
/* d may be NULL. All statements must be finalized first. */
void database_close(struct database *d);
/* Returns the SQLite database, for statements that SQLite itself understands. */
sqlite3 *database_sqlite(struct database *d);

/* Looks for modules in this directory before those of this program. The directory holds the
 * modules, or is a checkout of Perfetto. Returns 0, or -errno and sets e. */
int database_use_modules(struct database *d, const char *dir, struct err_text *e);

/* A function in such a directory's modules is left out if its statement needs something that is
 * missing here. Writes a sentence about the functions left out since the last call; returns false
 * if there are none. */
bool database_pop_left_out(struct database *d, struct err_text *ret);

/*
 * Prepares the first statement of a text that begins at or after byte *at, as sqlite3_prepare_v2()
 * does; the caller finalizes *ret. It expands macros, and runs these statements at once:
 *
 *	CREATE [OR REPLACE] PERFETTO TABLE, VIEW, FUNCTION, MACRO, INDEX; DROP PERFETTO INDEX
 *	INCLUDE PERFETTO MODULE
 *
 * *ret is NULL if there is nothing left to run. *at is set to the place after the statement, even
 * if the statement has a mistake. Returns 0; or -EINVAL, -EINTR (sqlite3_interrupt()) or -ENOMEM,
 * and sets e, which names the line and the column.
 */
int database_prepare(struct database *d, const char *text, size_t *at, sqlite3_stmt **ret,
		     struct err_text *e);
