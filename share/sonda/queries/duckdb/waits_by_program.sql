-- SPDX-License-Identifier: Apache-2.0
-- How long the programs of each machine waited for a CPU. Percentiles are accurate to within 3 %.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a directory
--	SET VARIABLE day = '2026-11-27';		-- or '2026-11-*'
-- program_wait_length has the waits of thread_state, counted by length: about ten waits a row.
WITH lengths AS (
  SELECT machine, program, (from_ns + to_ns) / 2 AS length, sum(waits) AS n, sum(total) AS total, max(longest) AS longest
  FROM read_parquet(getvariable('store') || '/v1/program_wait_length/date=' || getvariable('day') || '/*/*.parquet',
      hive_partitioning = true, union_by_name = true)
  GROUP BY ALL
),
ranks AS (
  SELECT *, sum(n) OVER (PARTITION BY machine, program ORDER BY length) AS up_to_here,
      sum(n) OVER (PARTITION BY machine, program) AS of_all
  FROM lengths
)
SELECT machine, program, sum(n)::BIGINT AS waits, sum(total) / 1e6 AS total_ms,
    min(length) FILTER (up_to_here >= 0.5 * of_all) / 1e6 AS p50_ms,
    min(length) FILTER (up_to_here >= 0.99 * of_all) / 1e6 AS p99_ms, max(longest) / 1e6 AS max_ms
FROM ranks
GROUP BY ALL
HAVING waits >= 20
ORDER BY p99_ms DESC
LIMIT 50;
