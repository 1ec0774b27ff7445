-- SPDX-License-Identifier: Apache-2.0
-- Which programs wait longer for a CPU since a date than before it, over all machines.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a folder
--	SET VARIABLE day = '2026-11-*';			-- days before and after
--	SET VARIABLE since = '2026-11-20';
WITH waits AS (
  SELECT w.date < getvariable('since')::DATE AS is_before, w.machine, coalesce(p.name, t.name) AS program, w.dur
  FROM read_parquet(getvariable('store') || '/v1/thread_state/date=' || getvariable('day') || '/*/*.parquet',
      hive_partitioning = true, union_by_name = true) w
  JOIN read_parquet(getvariable('store') || '/v1/thread/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) t
    ON t.trace_uuid = w.trace_uuid AND t.utid = w.utid
  LEFT JOIN read_parquet(getvariable('store') || '/v1/process/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) p
    ON p.trace_uuid = t.trace_uuid AND p.upid = t.upid
  WHERE w.state IN ('R', 'R+') AND w.dur > 0
)
SELECT program, count(*) FILTER (is_before) AS waits_before, count(*) FILTER (NOT is_before) AS waits_since,
    count(DISTINCT machine) FILTER (NOT is_before) AS machines,
    quantile_cont(dur, 0.99) FILTER (is_before) / 1e6 AS p99_ms_before,
    quantile_cont(dur, 0.99) FILTER (NOT is_before) / 1e6 AS p99_ms_since,
    p99_ms_since / p99_ms_before AS ratio
FROM waits
GROUP BY program
HAVING waits_before >= 100 AND waits_since >= 100 AND ratio > 1.2
ORDER BY p99_ms_since - p99_ms_before DESC
LIMIT 50;
