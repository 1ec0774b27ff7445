-- SPDX-License-Identifier: Apache-2.0
-- Module intervals.overlap of trace_processor's library: how many intervals overlap at each time,
-- and intervals without overlaps.

-- Rows: ts, value: from ts on, there are `value` intervals at once. An interval with a dur of -1
-- has no end.
CREATE PERFETTO MACRO intervals_overlap_count(segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName)
RETURNS TableOrSubquery AS
(SELECT ts, sum(sum(step)) OVER (ORDER BY ts) AS value
  FROM (
    SELECT $ts_column AS ts, 1 AS step FROM $segments
    UNION ALL
    SELECT $ts_column + $dur_column, -1 FROM $segments WHERE $dur_column != -1)
  GROUP BY ts
  ORDER BY ts);

-- The same for each value of a column, which is called group_name.
CREATE PERFETTO MACRO intervals_overlap_count_by_group(
  segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName, group_column ColumnName)
RETURNS TableOrSubquery AS
(SELECT ts, sum(sum(step)) OVER (PARTITION BY group_name ORDER BY ts) AS value, group_name
  FROM (
    SELECT $ts_column AS ts, 1 AS step, $group_column AS group_name FROM $segments
    UNION ALL
    SELECT $ts_column + $dur_column, -1, $group_column FROM $segments WHERE $dur_column != -1)
  GROUP BY ts, group_name
  ORDER BY ts);

-- Rows: ts, dur: the times that the intervals cover. Gaps of up to epsilon are covered, too.
CREATE PERFETTO MACRO interval_merge_overlapping(intervals TableOrSubquery, epsilon Expr) RETURNS TableOrSubquery AS
(SELECT min(ts) AS ts, max(ts_end) - min(ts) AS dur
  FROM (
    SELECT ts, ts_end, sum(is_gap) OVER (ORDER BY ts, ts_end ROWS UNBOUNDED PRECEDING) AS part
    FROM (
      SELECT ts, ts + dur AS ts_end,
          coalesce(ts > max(ts + dur) OVER before + $epsilon, 1) AS is_gap
      FROM $intervals
      WINDOW before AS (ORDER BY ts, ts + dur ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)))
  GROUP BY part);

CREATE PERFETTO MACRO _merge_column(column ColumnName) RETURNS _ProjectionFragment AS $column;

-- The same for each combination of values of the columns, which the rows also have.
CREATE PERFETTO MACRO interval_merge_overlapping_partitioned(intervals TableOrSubquery, partition_columns ColumnNameList)
RETURNS TableOrSubquery AS
(SELECT min(ts) AS ts, max(ts_end) - min(ts) AS dur __intrinsic_token_apply_prefix!(_merge_column, $partition_columns)
  FROM (
    SELECT *, sum(is_gap) OVER (PARTITION BY __intrinsic_token_apply!(_merge_column, $partition_columns)
      ORDER BY ts, ts_end ROWS UNBOUNDED PRECEDING) AS part
    FROM (
      SELECT ts, ts + dur AS ts_end,
          coalesce(ts > max(ts + dur) OVER before, 1) AS is_gap
          __intrinsic_token_apply_prefix!(_merge_column, $partition_columns)
      FROM $intervals
      WINDOW before AS (PARTITION BY __intrinsic_token_apply!(_merge_column, $partition_columns)
        ORDER BY ts, ts + dur ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)))
  GROUP BY part __intrinsic_token_apply_prefix!(_merge_column, $partition_columns));
