-- SPDX-License-Identifier: Apache-2.0
-- Module intervals.fill_gaps of trace_processor's library: intervals without gaps between them.

CREATE PERFETTO MACRO _fill_gaps_column(column ColumnName) RETURNS _ProjectionFragment AS $column;
CREATE PERFETTO MACRO _fill_gaps_null(column ColumnName) RETURNS _ProjectionFragment AS NULL;

-- Rows: ts, dur, the columns of the partition and of the data: the intervals of the table, and one for each gap between, before and
-- after those of a partition, in which the data is NULL. The trace is covered from its start to its end. A row whose ts is NULL only
-- adds its partition. Without a partition, the columns are (NULL).
CREATE PERFETTO MACRO _intervals_fill_gaps(partition_columns ColumnNameList, data_columns ColumnNameList, intervals TableOrSubquery)
RETURNS TableOrSubquery AS
(SELECT ts, dur __intrinsic_token_apply_prefix!(_fill_gaps_column, $partition_columns)
    __intrinsic_token_apply_prefix!(_fill_gaps_column, $data_columns)
  FROM $intervals
  WHERE ts IS NOT NULL
  UNION ALL
  SELECT before, ts - before __intrinsic_token_apply_prefix!(_fill_gaps_column, $partition_columns)
    __intrinsic_token_apply_prefix!(_fill_gaps_null, $data_columns)
  FROM (
    SELECT *, coalesce(max(ts + dur) OVER (PARTITION BY __intrinsic_token_apply!(_fill_gaps_column, $partition_columns)
      ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), trace_start()) AS before
    FROM $intervals
    WHERE ts IS NOT NULL)
  WHERE ts > before
  UNION ALL
  SELECT last, trace_end() - last __intrinsic_token_apply_prefix!(_fill_gaps_column, $partition_columns)
    __intrinsic_token_apply_prefix!(_fill_gaps_null, $data_columns)
  FROM (
    SELECT *, coalesce(max(iif(dur = -1, trace_end(), ts + dur)), trace_start()) AS last
    FROM $intervals
    GROUP BY __intrinsic_token_apply!(_fill_gaps_column, $partition_columns))
  WHERE last < trace_end());
