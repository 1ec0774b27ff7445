-- SPDX-License-Identifier: Apache-2.0
-- How long the programs of each machine waited for a CPU. Percentiles are accurate to within 3 %.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-27';			-- or '2026-11-*'
-- program_wait_length has the waits of thread_state, counted by length: about ten waits a row.
SELECT machine, program, sum(w.waits) AS waits, sum(w.total) / 1e6 AS total_ms,
    quantileExactWeighted(0.5)((w.from_ns + w.to_ns) / 2, toUInt64(w.waits)) / 1e6 AS p50_ms,
    quantileExactWeighted(0.99)((w.from_ns + w.to_ns) / 2, toUInt64(w.waits)) / 1e6 AS p99_ms,
    max(w.longest) / 1e6 AS max_ms
FROM s3({store:String} || '/v1/program_wait_length/date=' || {day:String} || '/*/*.parquet') AS w
GROUP BY machine, program
HAVING waits >= 20
ORDER BY p99_ms DESC
LIMIT 50
