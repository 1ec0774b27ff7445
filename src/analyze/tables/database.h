/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "analyze/store/store.h"

/*
 * An SQLite database in memory whose tables are those of the store: virtual tables that read its columns, and
 * views on them. Returns 0 with *ret_db, which the caller closes with sqlite3_close() before the store is
 * freed; or -ENOMEM.
 */
int database_open(struct store *s, sqlite3 **ret_db);
