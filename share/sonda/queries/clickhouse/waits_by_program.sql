-- SPDX-License-Identifier: Apache-2.0
-- How long the programs of each machine waited for a CPU.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-27';			-- or '2026-11-*'
SELECT w.machine AS machine, coalesce(p.name, t.name) AS program, count() AS waits, sum(w.dur) / 1e6 AS total_ms,
    quantile(0.5)(w.dur) / 1e6 AS p50_ms, quantile(0.99)(w.dur) / 1e6 AS p99_ms, max(w.dur) / 1e6 AS max_ms
FROM (
  SELECT machine, trace_uuid, utid, dur
  FROM s3({store:String} || '/v1/thread_state/date=' || {day:String} || '/*/*.parquet')
  WHERE state IN ('R', 'R+') AND dur > 0
) AS w
JOIN (
  SELECT trace_uuid, utid, upid, name
  FROM s3({store:String} || '/v1/thread/date=' || {day:String} || '/*/*.parquet')
) AS t ON t.trace_uuid = w.trace_uuid AND t.utid = w.utid
LEFT JOIN (
  SELECT trace_uuid, upid, name
  FROM s3({store:String} || '/v1/process/date=' || {day:String} || '/*/*.parquet')
) AS p ON p.trace_uuid = t.trace_uuid AND p.upid = t.upid
GROUP BY machine, program
HAVING waits >= 20
ORDER BY p99_ms DESC
LIMIT 50
