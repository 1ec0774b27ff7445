/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/tables/database.h"

#include <errno.h>

#include "analyze/tables/table_module.h"

int database_open(struct store *s, sqlite3 **ret_db)
{
	sqlite3 *db;

	if (sqlite3_open_v2(":memory:", &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    NULL) != SQLITE_OK ||
	    table_module_register(db, s) != SQLITE_OK || args_module_register(db, s) != SQLITE_OK ||
	    slice_walk_register(db, s) != SQLITE_OK || sql_functions_register(db, s) != SQLITE_OK ||
	    text_functions_register(db) != SQLITE_OK || sql_views_create(db) != SQLITE_OK ||
	    span_join_register(db) != SQLITE_OK) {
		sqlite3_close(db);
		return -ENOMEM;
	}
	*ret_db = db;
	return 0;
}
