-- SPDX-License-Identifier: Apache-2.0
-- Programs that are ready to run while another program has their CPU. Programs that wake each other
-- work together, and so do those with a common ancestor that began during the recording, such as
-- the compilers of a make: these are not neighbours.
--
-- @title CPU saturation by a neighbour
-- @needs table sched
-- @record sched
-- @threshold share_pct 20 of the time in which the program ran or could have run
-- @threshold behind_ns 100000000 in total
-- @words {program} was ready to run for {behind_ns} while others had its CPU, {share_pct} % of the time in which it could have run; {neighbour} had it longest ({neighbour_ns})
-- @more report latency -p {tid}
WITH RECURSIVE up(upid, at, depth) AS (
  SELECT upid, upid, 0
  FROM process
  UNION ALL
  SELECT up.upid, q.upid, depth + 1
  FROM up
  JOIN process p ON p.upid = up.at
  JOIN process q ON q.upid = p.parent_upid
  WHERE p.start_ts >= :from AND q.start_ts >= :from AND depth < 100),
job AS MATERIALIZED (
  SELECT upid, at AS root, max(depth)
  FROM up
  GROUP BY upid),
wakes AS MATERIALIZED (
  SELECT waker_utid, utid, irq_context, count(*) AS n
  FROM thread_state
  WHERE state = 'R' AND waker_utid IS NOT NULL AND ts >= :from AND ts < :to
  GROUP BY 1, 2, 3),
of_programs AS MATERIALIZED (
  SELECT a.program AS waker, b.program AS woken, sum(n) AS n, sum(iif(irq_context, 0, n)) AS direct
  FROM wakes
  JOIN who a ON a.utid = wakes.waker_utid
  JOIN who b ON b.utid = wakes.utid
  GROUP BY 1, 2),
woken AS MATERIALIZED (
  SELECT woken, sum(n) AS n
  FROM of_programs
  GROUP BY woken),
-- A message over a local socket wakes its reader from a softirq of the sender: such programs wake
-- each other.
partners AS MATERIALIZED (
  SELECT p.waker, p.woken
  FROM of_programs p
  JOIN woken a ON a.woken = p.woken
  LEFT JOIN of_programs q ON q.waker = p.woken AND q.woken = p.waker
  LEFT JOIN woken b ON b.woken = q.woken
  WHERE p.direct > a.n / 10 OR (p.n > 20 AND q.n > 20 AND p.n > a.n / 3 AND q.n > b.n / 3)),
pairs AS (
  SELECT v.program, n.program AS neighbour, sum(h.time) AS time, max(h.longest) AS longest,
      h.longest_ts, v.tid
  FROM held_cpu h
  JOIN who v ON v.utid = h.utid
  JOIN who n ON n.utid = h.holder
  LEFT JOIN job jv ON jv.upid = v.upid
  LEFT JOIN job jn ON jn.upid = n.upid
  WHERE n.thread != '(idle)' AND NOT v.is_kernel AND v.program != n.program AND jv.root IS NOT jn.root AND NOT EXISTS (SELECT 1
      FROM partners p WHERE (p.waker = v.program AND p.woken = n.program) OR (p.waker = n.program
      AND p.woken = v.program))
  GROUP BY 1, 2),
busy AS (
  SELECT program, sum(run + runnable) AS time, sum(run) AS run
  FROM thread_time
  JOIN who USING (utid)
  GROUP BY program),
total AS (
  SELECT program, sum(time) AS behind, max(time) AS most, neighbour, longest, longest_ts, tid
  FROM pairs
  GROUP BY program)
SELECT total.program, total.tid, 100.0 * behind / busy.time AS share_pct, behind AS behind_ns, busy.run AS ran_ns,
    neighbour, most AS neighbour_ns, 100.0 * most / behind AS neighbour_pct, longest AS longest_ns,
    longest_ts AS at_ts
FROM total
JOIN busy USING (program)
