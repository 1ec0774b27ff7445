-- SPDX-License-Identifier: Apache-2.0
-- Which programs have waited longer for a CPU since a date than before it, across all machines.
-- Percentiles are accurate to within 3 %.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-*';			-- days before and after
--	SET param_since = '2026-11-20';
SELECT program, sumIf(w.waits, is_before) AS waits_before, sumIf(w.waits, NOT is_before) AS waits_since,
    uniqExactIf(machine, NOT is_before) AS machines,
    quantileExactWeightedIf(0.99)((w.from_ns + w.to_ns) / 2, toUInt64(w.waits), is_before) / 1e6 AS p99_ms_before,
    quantileExactWeightedIf(0.99)((w.from_ns + w.to_ns) / 2, toUInt64(w.waits), NOT is_before) / 1e6 AS p99_ms_since,
    p99_ms_since / p99_ms_before AS ratio
FROM (
  SELECT toDate(date) < toDate({since:String}) AS is_before, machine, program, from_ns, to_ns, waits
  FROM s3({store:String} || '/v1/program_wait_length/date=' || {day:String} || '/*/*.parquet')
) AS w
GROUP BY program
HAVING waits_before >= 100 AND waits_since >= 100 AND ratio > 1.2
ORDER BY p99_ms_since - p99_ms_before DESC
LIMIT 50
