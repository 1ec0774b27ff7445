-- SPDX-License-Identifier: Apache-2.0
-- Module intervals.intersect of trace_processor's library: the times at which intervals of several tables overlap. Tables have the
-- columns id, ts, dur (not negative), and those of the partition.

CREATE PERFETTO MACRO _ii_value(name ColumnName, value ColumnName) RETURNS _ProjectionFragment AS
  __intrinsic_stringify!($name), part.$value;
CREATE PERFETTO MACRO _ii_set(t TableOrSubquery, columns ColumnNameList) RETURNS TableOrSubquery AS
(SELECT __intrinsic_interval_tree_intervals_agg(part.id, part.ts, part.dur
    __intrinsic_token_apply_prefix!(_ii_value, $columns, $columns))
  FROM (SELECT * FROM $t) part);
CREATE PERFETTO MACRO _ii_id(column ColumnName, t TableOrSubquery) RETURNS _ProjectionFragment AS $column;
CREATE PERFETTO MACRO _ii_column(column ColumnName, name ColumnName) RETURNS _ProjectionFragment AS $column AS $name;
CREATE PERFETTO MACRO _ii_bind(column ColumnName, name ColumnName) RETURNS Expr AS
  __intrinsic_table_ptr_bind($column, __intrinsic_stringify!($name));

-- Rows: ts, dur, id_0, id_1, ... (one for each table), and the columns of the partition.
CREATE PERFETTO MACRO _interval_intersect(tabs _TableNameList, agg_columns ColumnNameList) RETURNS TableOrSubquery AS
(SELECT c0 AS ts, c1 AS dur,
    __intrinsic_token_apply!(_ii_id, (c2 AS id_0, c3 AS id_1, c4 AS id_2, c5 AS id_3, c6 AS id_4, c7 AS id_5, c8 AS id_6,
      c9 AS id_7, c10 AS id_8, c11 AS id_9), $tabs)
    __intrinsic_token_apply_prefix!(_ii_column, (c12, c13, c14, c15), $agg_columns)
  FROM __intrinsic_table_ptr(__intrinsic_interval_intersect(
    __intrinsic_token_apply!(_ii_set, $tabs, ($agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns,
      $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns)),
    __intrinsic_stringify!($agg_columns)))
  WHERE __intrinsic_table_ptr_bind(c0, 'ts') AND __intrinsic_table_ptr_bind(c1, 'dur')
    AND __intrinsic_token_apply_and!(_ii_bind, (c2, c3, c4, c5, c6, c7, c8, c9, c10, c11),
      (id_0, id_1, id_2, id_3, id_4, id_5, id_6, id_7, id_8, id_9))
    __intrinsic_token_apply_and_prefix!(_ii_bind, (c12, c13, c14, c15), $agg_columns));

-- Rows: id, ts, dur: the parts of a table's intervals that are in one interval.
CREATE PERFETTO MACRO _interval_intersect_single(ts Expr, dur Expr, t TableOrSubquery) RETURNS TableOrSubquery AS
(SELECT id_0 AS id, ts, dur
  FROM _interval_intersect!(($t, (SELECT 0 AS id, $ts AS ts, $dur AS dur)), ()));
