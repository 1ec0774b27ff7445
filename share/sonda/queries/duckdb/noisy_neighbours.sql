-- SPDX-License-Identifier: Apache-2.0
-- Which programs had the CPU while others waited for it for 5 ms or longer, by machine.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a directory
--	SET VARIABLE day = '2026-11-27';		-- or '2026-11-*'
-- Both sides are cut into pieces of 50 ms, so that only simultaneous pieces are compared.
WITH sched AS (
  SELECT machine, trace_uuid, cpu, utid, ts, ts + dur AS ends
  FROM read_parquet(getvariable('store') || '/v1/sched/date=' || getvariable('day') || '/*/*.parquet',
      hive_partitioning = true, union_by_name = true)
  WHERE dur > 0
),
programs AS (
  SELECT t.trace_uuid, t.utid, coalesce(p.name, t.name) AS program
  FROM read_parquet(getvariable('store') || '/v1/thread/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) t
  LEFT JOIN read_parquet(getvariable('store') || '/v1/process/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) p
    ON p.trace_uuid = t.trace_uuid AND p.upid = t.upid
  WHERE t.tid <> 0
),
-- A wait ends when the thread runs, and counts for the CPU on which it then runs.
waits AS (
  SELECT w.trace_uuid, w.utid, s.cpu, w.ts, w.ts + w.dur AS ends
  FROM read_parquet(getvariable('store') || '/v1/thread_state/date=' || getvariable('day') || '/*/*.parquet',
      union_by_name = true) w
  JOIN sched s ON s.trace_uuid = w.trace_uuid AND s.utid = w.utid AND s.ts = w.ts + w.dur
  WHERE w.state IN ('R', 'R+') AND w.dur >= 5000000
),
sched_pieces AS (
  SELECT *, unnest(range(ts // 50000000, ends // 50000000 + 1)) AS piece
  FROM sched
),
wait_pieces AS (
  SELECT *, unnest(range(ts // 50000000, ends // 50000000 + 1)) AS piece
  FROM waits
)
SELECT s.machine, by_program.program AS had_the_cpu, of_program.program AS waited,
    sum(least(s.ends, w.ends) - greatest(s.ts, w.ts)) / 1e6 AS total_ms,
    count(DISTINCT (w.trace_uuid, w.utid, w.ts)) AS waits
FROM wait_pieces w
JOIN sched_pieces s ON s.trace_uuid = w.trace_uuid AND s.cpu = w.cpu AND s.piece = w.piece
    AND s.ts < w.ends AND s.ends > w.ts AND greatest(s.ts, w.ts) // 50000000 = w.piece
JOIN programs by_program ON by_program.trace_uuid = s.trace_uuid AND by_program.utid = s.utid
JOIN programs of_program ON of_program.trace_uuid = w.trace_uuid AND of_program.utid = w.utid
GROUP BY ALL
ORDER BY total_ms DESC
LIMIT 50;
