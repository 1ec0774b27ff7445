-- SPDX-License-Identifier: Apache-2.0
-- What every script has without including it.

CREATE PERFETTO MACRO cast_int(value Expr) RETURNS Expr AS CAST($value AS INTEGER);
CREATE PERFETTO MACRO cast_double(value Expr) RETURNS Expr AS CAST($value AS REAL);
CREATE PERFETTO MACRO cast_string(value Expr) RETURNS Expr AS CAST($value AS TEXT);

-- True if the first slice is around the second one.
CREATE PERFETTO FUNCTION slice_is_ancestor(ancestor_id LONG, descendant_id LONG) RETURNS BOOL AS
SELECT a.track_id = d.track_id AND a.ts <= d.ts
    AND (a.dur = -1 OR a.ts + a.dur >= d.ts + d.dur)
    AND a.depth < d.depth
FROM slice a, slice d
WHERE a.id = $ancestor_id AND d.id = $descendant_id;

-- Names of C++ and Rust are demangled where they are recorded, in a process without rights. Here they stay as they are.
CREATE PERFETTO FUNCTION demangle(name STRING) RETURNS STRING AS SELECT NULL;

-- The table of graph_reachable_weight_bounded_dfs!() (graphs.search). The arrays are results of repeatedfield().
CREATE PERFETTO FUNCTION __intrinsic_dfs_weight_bounded(source_node_ids BYTES, dest_node_ids BYTES, edge_weights BYTES,
  root_node_ids BYTES, root_target_weights BYTES, is_target_weight_floor LONG)
RETURNS TABLE(root_node_id LONG, node_id LONG, parent_node_id LONG) AS
SELECT c0 AS root_node_id, c1 AS node_id, c2 AS parent_node_id
FROM __intrinsic_table_ptr(sonda_dfs_weight_bounded($source_node_ids, $dest_node_ids, $edge_weights, $root_node_ids,
  $root_target_weights, $is_target_weight_floor))
WHERE __intrinsic_table_ptr_bind(c0, 'root_node_id') AND __intrinsic_table_ptr_bind(c1, 'node_id')
  AND __intrinsic_table_ptr_bind(c2, 'parent_node_id');
