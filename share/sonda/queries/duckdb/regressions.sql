-- SPDX-License-Identifier: Apache-2.0
-- Which programs have waited longer for a CPU since a date than before it, across all machines.
-- Percentiles are accurate to within 3 %.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a directory
--	SET VARIABLE day = '2026-11-*';			-- days before and after
--	SET VARIABLE since = '2026-11-20';
WITH waits AS (
  SELECT date < getvariable('since')::DATE AS is_before, machine, program, (from_ns + to_ns) / 2 AS length, waits
  FROM read_parquet(getvariable('store') || '/v1/program_wait_length/date=' || getvariable('day') || '/*/*.parquet',
      hive_partitioning = true, union_by_name = true)
),
ranks AS (
  SELECT is_before, program, length, sum(sum(waits)) OVER (PARTITION BY is_before, program ORDER BY length) AS up_to_here,
      sum(sum(waits)) OVER (PARTITION BY is_before, program) AS of_all
  FROM waits
  GROUP BY is_before, program, length
),
sides AS (
  SELECT is_before, program, any_value(of_all)::BIGINT AS n, min(length) FILTER (up_to_here >= 0.99 * of_all) / 1e6 AS p99_ms
  FROM ranks
  GROUP BY is_before, program
),
machines AS (
  SELECT program, count(DISTINCT machine) AS machines
  FROM waits
  WHERE NOT is_before
  GROUP BY program
)
SELECT program, b.n AS waits_before, s.n AS waits_since, machines,
    b.p99_ms AS p99_ms_before, s.p99_ms AS p99_ms_since, s.p99_ms / b.p99_ms AS ratio
FROM sides b
JOIN sides s USING (program)
JOIN machines USING (program)
WHERE b.is_before AND NOT s.is_before AND b.n >= 100 AND s.n >= 100 AND s.p99_ms / b.p99_ms > 1.2
ORDER BY s.p99_ms - b.p99_ms DESC
LIMIT 50;
