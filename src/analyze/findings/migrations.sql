-- SPDX-License-Identifier: Apache-2.0
-- Threads that are moved to another CPU while they could have continued to run: by changes of their
-- affinity, or by load balancing.
--
-- @title Migration churn
-- @needs table sched
-- @record sched
-- @threshold share_pct 20 of the thread's runs
-- @threshold per_s 200
-- @words {thread} was moved to another CPU {per_s} times a second although it could have kept running: after {share_pct} % of its runs
-- @more report sched -p {tid}
-- These kernel threads move threads that are running. A thread that changes its own affinity waits
-- for them (D).
WITH forced AS MATERIALIZED (
  SELECT 1e9 * sum(n) / (:to - :from) AS per_s
  FROM used
  JOIN who USING (utid)
  WHERE thread GLOB 'migration/*'),
r AS (
  SELECT utid, ts, cpu, lag(cpu) OVER w AS before, lag(end_state) OVER w AS state
  FROM sched
  WHERE ts >= :from AND ts < :to AND utid IN chosen
  WINDOW w AS (PARTITION BY utid ORDER BY ts)),
n AS (
  SELECT utid, count(*) AS runs, sum(cpu != before AND (state GLOB 'R*' OR (state GLOB 'D*' AND (SELECT per_s FROM forced) >=
      200))) AS moves, min(iif(cpu != before, ts, NULL)) AS ts
  FROM r
  GROUP BY utid)
SELECT process || ' ' || tid AS thread, tid, 100.0 * moves / runs AS share_pct, 1e9 * moves / (:to - :from) AS per_s, moves, runs,
    ts AS at_ts
FROM n
JOIN who USING (utid)
