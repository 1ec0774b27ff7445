/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "base/text/str.h"

/* What the virtual tables share. A table's struct begins with struct vtab, its cursor's struct with
 * sqlite3_vtab_cursor. Both are set to 0 when they are made. */
struct vtab {
	sqlite3_vtab base;
	size_t cursor_size;
	/* Free what the struct owns, not the struct itself; may be NULL. */
	void (*deinit)(struct vtab *t);
	void (*deinit_cursor)(sqlite3_vtab_cursor *c);
};

/* Members of an sqlite3_module that are the same for all. A module without xCreate has one table,
 * which exists without a statement that makes it. */
#define VTAB_MODULE                                                                                \
	.iVersion = 1, .xDisconnect = vtab_disconnect, .xOpen = vtab_open_cursor,                  \
	.xClose = vtab_close_cursor

/* Makes a table of `size` bytes. Returns NULL if out of memory. */
void *vtab_new(size_t size, size_t cursor_size);
/* Declares the columns by a statement CREATE TABLE, which it frees, and hands the table over to
 * SQLite; frees it on failure. Returns an SQLite result code: the result of xConnect. */
int vtab_connect(sqlite3 *db, struct vtab *t, struct strbuf *sql, sqlite3_vtab **ret);

int vtab_disconnect(sqlite3_vtab *t);
int vtab_open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret);
int vtab_close_cursor(sqlite3_vtab_cursor *c);

/* Returns the number of a usable constraint `column = ?`, searching from constraint i on; -1: there
 * is none. *ret_unusable, which may be NULL: there is one, but this plan cannot use it. */
int vtab_find_equality(const sqlite3_index_info *info, int i, int column, int *ret_unusable);
