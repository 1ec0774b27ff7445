-- SPDX-License-Identifier: Apache-2.0
-- Which programs wait longer for a CPU since a date than before it, over all machines.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-*';			-- days before and after
--	SET param_since = '2026-11-20';
SELECT coalesce(p.name, t.name) AS program, countIf(w.is_before) AS waits_before, countIf(NOT w.is_before) AS waits_since,
    uniqExactIf(w.machine, NOT w.is_before) AS machines, quantileIf(0.99)(w.dur, w.is_before) / 1e6 AS p99_ms_before,
    quantileIf(0.99)(w.dur, NOT w.is_before) / 1e6 AS p99_ms_since, p99_ms_since / p99_ms_before AS ratio
FROM (
  SELECT toDate(date) < toDate({since:String}) AS is_before, machine, trace_uuid, utid, dur
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
GROUP BY program
HAVING waits_before >= 100 AND waits_since >= 100 AND ratio > 1.2
ORDER BY p99_ms_since - p99_ms_before DESC
LIMIT 50
