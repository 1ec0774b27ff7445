-- SPDX-License-Identifier: Apache-2.0
-- Which programs had the CPU while others waited for it for 5 ms or longer, by machine.
--
--	SET param_store = 'https://s3.eu-west-1.amazonaws.com/traces/prod';
--	SET param_day = '2026-11-27';			-- or '2026-11-*'
-- Both sides are cut into pieces of 50 ms, so that only simultaneous pieces are compared.
WITH runs AS (
  SELECT machine, trace_uuid, cpu, utid, ts, ts + dur AS ends
  FROM s3({store:String} || '/v1/sched/date=' || {day:String} || '/*/*.parquet')
  WHERE dur > 0
),
programs AS (
  SELECT t.trace_uuid AS trace_uuid, t.utid AS utid, coalesce(p.name, t.name) AS program
  FROM s3({store:String} || '/v1/thread/date=' || {day:String} || '/*/*.parquet') AS t
  LEFT JOIN s3({store:String} || '/v1/process/date=' || {day:String} || '/*/*.parquet') AS p
    ON p.trace_uuid = t.trace_uuid AND p.upid = t.upid
  WHERE t.tid != 0
),
-- A wait ends when the thread runs, and counts for the CPU on which it then runs.
waits AS (
  SELECT w.trace_uuid AS trace_uuid, w.utid AS utid, s.cpu AS cpu, w.ts AS ts, w.ts + w.dur AS ends
  FROM (
    SELECT trace_uuid, utid, ts, dur
    FROM s3({store:String} || '/v1/thread_state/date=' || {day:String} || '/*/*.parquet')
    WHERE state IN ('R', 'R+') AND dur >= 5000000
  ) AS w
  JOIN runs AS s ON s.trace_uuid = w.trace_uuid AND s.utid = w.utid AND s.ts = w.ts + w.dur
),
run_pieces AS (
  SELECT *, arrayJoin(range(assumeNotNull(toUInt64(intDiv(ts, 50000000))), assumeNotNull(toUInt64(intDiv(ends, 50000000) + 1)))) AS piece
  FROM runs
),
wait_pieces AS (
  SELECT *, arrayJoin(range(assumeNotNull(toUInt64(intDiv(ts, 50000000))), assumeNotNull(toUInt64(intDiv(ends, 50000000) + 1)))) AS piece
  FROM waits
),
overlaps AS (
  SELECT s.machine AS machine, s.trace_uuid AS trace_uuid, s.utid AS by_utid, w.utid AS of_utid, w.ts AS wait_ts,
      greatest(s.ts, w.ts) AS begins, least(s.ends, w.ends) AS ends, w.piece AS piece
  FROM wait_pieces AS w
  JOIN run_pieces AS s ON s.trace_uuid = w.trace_uuid AND s.cpu = w.cpu AND s.piece = w.piece
  WHERE begins < ends AND intDiv(begins, 50000000) = piece
)
SELECT o.machine AS machine, b.program AS had_the_cpu, f.program AS waited, sum(o.ends - o.begins) / 1e6 AS total_ms,
    uniqExact(o.trace_uuid, o.of_utid, o.wait_ts) AS waits
FROM overlaps AS o
JOIN programs AS b ON b.trace_uuid = o.trace_uuid AND b.utid = o.by_utid
JOIN programs AS f ON f.trace_uuid = o.trace_uuid AND f.utid = o.of_utid
GROUP BY machine, had_the_cpu, waited
ORDER BY total_ms DESC
LIMIT 50
