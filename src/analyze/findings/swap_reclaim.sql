-- SPDX-License-Identifier: Apache-2.0
-- Threads that wait for memory: for pages from swap, or because they free memory themselves.
--
-- @title Swap and reclaim
-- @needs counter psi.mem.some or counter *reclaim time or event vmscan/mm_vmscan_direct_reclaim_begin or source linux.waits
-- @record mem waits
-- @threshold share_pct 5 of the window
-- @threshold stalled_ns 20000000
-- @words {who} waited for memory for {stalled_ns} ({share_pct} % of the time): {what}
-- @more report mem
WITH ev AS (
  SELECT ts, utid, name, lead(name) OVER w AS next_name, lead(ts) OVER w AS next_ts
  FROM ftrace_event
  WHERE name IN ('mm_vmscan_direct_reclaim_begin', 'mm_vmscan_direct_reclaim_end', 'mm_vmscan_memcg_reclaim_begin',
      'mm_vmscan_memcg_reclaim_end') AND ts >= :from AND ts < :to
  WINDOW w AS (PARTITION BY utid ORDER BY ts, id)),
-- The largest of these is named where only the total of all threads is known.
named AS MATERIALIZED (
  SELECT process || ' ' || tid AS who, 'reclaim by the thread' AS what, sum(next_ts - ts) AS time, count(*) AS times, min(ts) AS ts
  FROM ev
  JOIN who USING (utid)
  WHERE name GLOB '*_begin' AND next_name GLOB '*_end' AND utid IN chosen
  GROUP BY utid
  UNION ALL
  SELECT process || ' ' || pid, reason, sum(time), sum(n), NULL
  FROM wait_reasons
  JOIN who USING (utid)
  WHERE reason IN ('swap in', 'memory reclaim') AND utid IN chosen
  GROUP BY process, pid, reason)
SELECT who, what, min(100, 100.0 * time / (:to - :from)) AS share_pct, time AS stalled_ns, times, ts AS at_ts
FROM named
UNION ALL
SELECT coalesce('some threads, most of all ' || (SELECT who FROM named ORDER BY time DESC LIMIT 1) || ',', 'some thread'),
    iif(name = 'psi.mem.some', 'pressure of memory', name), min(100, 100.0 * grown / dur), CAST(grown AS INTEGER), NULL, first_ts
FROM grown
WHERE name IN ('psi.mem.some', 'direct reclaim time', 'control group reclaim time') AND dur > 0
