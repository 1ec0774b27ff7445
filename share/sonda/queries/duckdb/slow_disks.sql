-- SPDX-License-Identifier: Apache-2.0
-- Latencies of block devices by machine, from the counters of the preset ebpf. Each value is the p99 of the requests since the
-- previous value.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a directory
--	SET VARIABLE day = '2026-11-27';		-- or '2026-11-*'
WITH tracks AS (
  SELECT t.trace_uuid, t.id, d.name AS device, split_part(t.name, ' ', 1) AS operation
  FROM read_parquet(getvariable('store') || '/v1/counter_track/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) t
  JOIN read_parquet(getvariable('store') || '/v1/track/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) d
    ON d.trace_uuid = t.trace_uuid AND d.id = t.parent_id
  JOIN read_parquet(getvariable('store') || '/v1/track/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) above
    ON above.trace_uuid = d.trace_uuid AND above.id = d.parent_id AND above.name = 'Block I/O'
  WHERE t.name LIKE '% latency p99'
)
SELECT machine, device, operation, count(*) AS "values", median(value) / 1e6 AS median_p99_ms,
    max(value) / 1e6 AS worst_p99_ms, make_timestamp_ns(arg_max(real_ns, value)) AS worst_at
FROM read_parquet(getvariable('store') || '/v1/counter/date=' || getvariable('day') || '/*/*.parquet',
    hive_partitioning = true, union_by_name = true) c
JOIN tracks ON tracks.trace_uuid = c.trace_uuid AND tracks.id = c.track_id
GROUP BY ALL
HAVING max(value) > 0
ORDER BY worst_p99_ms DESC
LIMIT 50;
