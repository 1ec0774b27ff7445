-- SPDX-License-Identifier: Apache-2.0
-- Latencies of block devices by machine, from the counters of the preset ebpf. Each value is the p99 of the requests since the
-- previous value.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-27';			-- or '2026-11-*'
WITH all_tracks AS (
  SELECT trace_uuid, id, parent_id, name
  FROM s3({store:String} || '/v1/track/date=' || {day:String} || '/*/*.parquet')
),
devices AS (
  SELECT d.trace_uuid AS trace_uuid, d.id AS id, d.name AS device
  FROM all_tracks AS d
  JOIN all_tracks AS above ON above.trace_uuid = d.trace_uuid AND above.id = d.parent_id
  WHERE above.name = 'Block I/O'
),
tracks AS (
  SELECT t.trace_uuid AS trace_uuid, t.id AS id, d.device AS device, splitByChar(' ', assumeNotNull(t.name))[1] AS operation
  FROM s3({store:String} || '/v1/counter_track/date=' || {day:String} || '/*/*.parquet') AS t
  JOIN devices AS d ON d.trace_uuid = t.trace_uuid AND d.id = t.parent_id
  WHERE t.name LIKE '% latency p99'
)
SELECT c.machine AS machine, t.device AS device, t.operation AS operation, count() AS values, median(c.value) / 1e6 AS median_p99_ms,
    max(c.value) / 1e6 AS worst_p99_ms, fromUnixTimestamp64Nano(assumeNotNull(argMax(c.real_ns, c.value)), 'UTC') AS worst_at
FROM s3({store:String} || '/v1/counter/date=' || {day:String} || '/*/*.parquet') AS c
JOIN tracks AS t ON t.trace_uuid = c.trace_uuid AND t.id = c.track_id
GROUP BY machine, device, operation
HAVING worst_p99_ms > 0
ORDER BY worst_p99_ms DESC
LIMIT 50
