-- SPDX-License-Identifier: Apache-2.0
-- How long the programs of each machine waited for a CPU.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a folder
--	SET VARIABLE day = '2026-11-27';		-- or '2026-11-*'
WITH waits AS (
  SELECT machine, trace_uuid, utid, dur
  FROM read_parquet(getvariable('store') || '/v1/thread_state/date=' || getvariable('day') || '/*/*.parquet',
      hive_partitioning = true, union_by_name = true)
  WHERE state IN ('R', 'R+') AND dur > 0
),
threads AS (
  SELECT trace_uuid, utid, upid, name
  FROM read_parquet(getvariable('store') || '/v1/thread/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true)
),
processes AS (
  SELECT trace_uuid, upid, name
  FROM read_parquet(getvariable('store') || '/v1/process/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true)
)
SELECT machine, coalesce(p.name, t.name) AS program, count(*) AS waits, sum(dur) / 1e6 AS total_ms,
    quantile_cont(dur, 0.5) / 1e6 AS p50_ms, quantile_cont(dur, 0.99) / 1e6 AS p99_ms, max(dur) / 1e6 AS max_ms
FROM waits
JOIN threads t USING (trace_uuid, utid)
LEFT JOIN processes p ON p.trace_uuid = t.trace_uuid AND p.upid = t.upid
GROUP BY ALL
HAVING waits >= 20
ORDER BY p99_ms DESC
LIMIT 50;
