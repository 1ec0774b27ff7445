-- SPDX-License-Identifier: Apache-2.0
-- Which machines have lost data: events missing from traces, traces dropped before their upload, and traces without
-- tables. No rows: nothing was lost.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-27';			-- or '2026-11-*'
WITH manifests AS (
  SELECT machine, uuid, problem, dropped_traces
  FROM s3({store:String} || '/v1/manifests/date=' || {day:String} || '/*.json', 'JSONEachRow',
      'machine String, uuid String, problem Nullable(String), dropped_traces Int64')
)
SELECT * FROM (
  SELECT machine, name AS lost, toNullable(toInt64(sum(value))) AS n, toNullable(uniqExact(trace_uuid)) AS traces
  FROM s3({store:String} || '/v1/stats/date=' || {day:String} || '/*/*.parquet')
  WHERE severity IN ('error', 'data_loss') AND value > 0
  GROUP BY machine, lost
  UNION ALL
  SELECT machine, 'traces dropped because the spool was full', max(dropped_traces), NULL
  FROM manifests
  GROUP BY machine
  HAVING max(dropped_traces) > 0
  UNION ALL
  SELECT machine, 'tables: ' || problem, NULL, count()
  FROM manifests
  WHERE problem IS NOT NULL
  GROUP BY machine, problem
)
ORDER BY machine, lost
