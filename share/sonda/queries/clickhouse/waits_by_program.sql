-- SPDX-License-Identifier: Apache-2.0
-- How long the programs of each machine waited for a CPU.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-27';			-- or '2026-11-*'
-- The waits are summarised by thread before the join: of 25 million waits that takes a third less CPU time.
SELECT w.machine AS machine, coalesce(p.name, t.name) AS program, sum(w.n) AS waits, sum(w.total) / 1e6 AS total_ms,
    quantilesMerge(0.5, 0.99)(w.durs)[1] / 1e6 AS p50_ms, quantilesMerge(0.5, 0.99)(w.durs)[2] / 1e6 AS p99_ms,
    max(w.longest) / 1e6 AS max_ms
FROM (
  SELECT machine, trace_uuid, utid, count() AS n, sum(dur) AS total, max(dur) AS longest,
      quantilesState(0.5, 0.99)(dur) AS durs
  FROM s3({store:String} || '/v1/thread_state/date=' || {day:String} || '/*/*.parquet')
  WHERE state IN ('R', 'R+') AND dur > 0
  GROUP BY machine, trace_uuid, utid
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
