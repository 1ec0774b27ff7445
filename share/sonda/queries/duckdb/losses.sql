-- SPDX-License-Identifier: Apache-2.0
-- Which machines have lost data: events missing from traces, traces dropped before their upload, and traces without
-- tables. No rows: nothing was lost.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a directory
--	SET VARIABLE day = '2026-11-27';		-- or '2026-11-*'
WITH manifests AS (
  SELECT *
  FROM read_json(getvariable('store') || '/v1/manifests/date=' || getvariable('day') || '/*.json',
      columns = {machine: 'VARCHAR', uuid: 'VARCHAR', source: 'VARCHAR', problem: 'VARCHAR', dropped_traces: 'BIGINT'})
)
SELECT machine, name AS lost, sum(value) AS n, count(DISTINCT trace_uuid) AS traces
FROM read_parquet(getvariable('store') || '/v1/stats/date=' || getvariable('day') || '/*/*.parquet',
    hive_partitioning = true, union_by_name = true)
WHERE severity IN ('error', 'data_loss') AND value > 0
GROUP BY ALL
UNION ALL
SELECT machine, 'traces dropped because the spool was full', max(dropped_traces), NULL
FROM manifests
GROUP BY machine
HAVING max(dropped_traces) > 0
UNION ALL
SELECT machine, 'tables: ' || problem, NULL, count(*)
FROM manifests
WHERE problem IS NOT NULL
GROUP BY ALL
ORDER BY machine, lost;
