/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

/*
 * Functions over sets of rows that SQL alone would answer slowly: an aggregate collects the rows, a
 * function computes rows from what was collected, and __intrinsic_table_ptr(rows) is a table of
 * them. The names are those that Perfetto's library uses:
 *
 *	SELECT c0 AS node_id, c1 AS parent_node_id
 *	FROM __intrinsic_table_ptr(__intrinsic_dfs(
 *	  (SELECT __intrinsic_graph_agg(source_node_id, dest_node_id) FROM edges),
 *	  (SELECT __intrinsic_array_agg(node_id) FROM starts)))
 *	WHERE __intrinsic_table_ptr_bind(c0, 'node_id')
 *	  AND __intrinsic_table_ptr_bind(c1, 'parent_node_id')
 *
 * What is collected is passed as a pointer, which SQL can neither print nor make. Without rows, an
 * aggregate is NULL, and the function's table is empty. Returns an SQLite result code.
 */
int row_sets_register(sqlite3 *db);
