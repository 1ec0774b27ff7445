-- SPDX-License-Identifier: Apache-2.0
-- Module graphs.search of trace_processor's library: which nodes of a directed graph can be reached. Graphs have the columns
-- source_node_id and dest_node_id, starts have node_id.

CREATE PERFETTO MACRO graph_reachable_dfs(graph_table TableOrSubquery, start_nodes TableOrSubquery)
RETURNS TableOrSubquery AS
(SELECT c0 AS node_id, c1 AS parent_node_id
  FROM __intrinsic_table_ptr(__intrinsic_dfs(
    (SELECT __intrinsic_graph_agg(source_node_id, dest_node_id) FROM $graph_table),
    (SELECT __intrinsic_array_agg(node_id) FROM $start_nodes)))
  WHERE __intrinsic_table_ptr_bind(c0, 'node_id') AND __intrinsic_table_ptr_bind(c1, 'parent_node_id'));

CREATE PERFETTO MACRO graph_reachable_bfs(graph_table TableOrSubquery, start_nodes TableOrSubquery)
RETURNS TableOrSubquery AS
(SELECT c0 AS node_id, c1 AS parent_node_id
  FROM __intrinsic_table_ptr(__intrinsic_bfs(
    (SELECT __intrinsic_graph_agg(source_node_id, dest_node_id) FROM $graph_table),
    (SELECT __intrinsic_array_agg(node_id) FROM $start_nodes)))
  WHERE __intrinsic_table_ptr_bind(c0, 'node_id') AND __intrinsic_table_ptr_bind(c1, 'parent_node_id'));

-- From each root_node_id of the roots: the nodes within its root_target_weight, the sum of the edge_weight of the edges by which nodes
-- were reached. The search ends with the node that exceeds the target, which is a row only if is_target_weight_floor.
CREATE PERFETTO MACRO graph_reachable_weight_bounded_dfs(graph_table TableOrSubquery, root_table TableOrSubquery, is_target_weight_floor Expr)
RETURNS TableOrSubquery AS
(SELECT root_node_id, node_id, parent_node_id
  FROM __intrinsic_dfs_weight_bounded(
    (SELECT repeatedfield(source_node_id) FROM $graph_table),
    (SELECT repeatedfield(dest_node_id) FROM $graph_table),
    (SELECT repeatedfield(edge_weight) FROM $graph_table),
    (SELECT repeatedfield(root_node_id) FROM $root_table),
    (SELECT repeatedfield(root_target_weight) FROM $root_table),
    $is_target_weight_floor));

CREATE PERFETTO MACRO graph_next_sibling(graph_table TableOrSubquery) RETURNS TableOrSubquery AS
(SELECT node_id, lead(node_id) OVER (PARTITION BY node_parent_id ORDER BY sort_key) AS next_node_id
  FROM $graph_table);
