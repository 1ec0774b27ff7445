/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/row_sets/row_sets.h"

#include "analyze/row_sets/result_rows.h"

int row_sets_register(sqlite3 *db)
{
	int r = result_rows_register(db);

	if (r == SQLITE_OK)
		r = graph_functions_register(db);
	if (r == SQLITE_OK)
		r = interval_functions_register(db);
	return r == SQLITE_OK ? counter_functions_register(db) : r;
}
