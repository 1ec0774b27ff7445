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
  WINDOW w AS (PARTITION BY utid ORDER BY ts, id))
SELECT 'some thread' AS who, 'pressure of memory' AS what, 100.0 * grown / dur AS share_pct, CAST(grown AS INTEGER) AS stalled_ns,
    NULL AS times, first_ts AS at_ts
FROM grown
WHERE name = 'psi.mem.some' AND dur > 0
UNION ALL
SELECT 'some thread', name, min(100, 100.0 * grown / dur), CAST(grown AS INTEGER), NULL, first_ts
FROM grown
WHERE name IN ('direct reclaim time', 'control group reclaim time') AND dur > 0
UNION ALL
SELECT process || ' ' || tid, 'reclaim by the thread', 100.0 * sum(next_ts - ts) / (:to - :from), sum(next_ts - ts), count(*), min(ts)
FROM ev
JOIN who USING (utid)
WHERE name GLOB '*_begin' AND next_name GLOB '*_end' AND utid IN chosen
GROUP BY utid
UNION ALL
SELECT process || ' ' || pid, reason, min(100, 100.0 * sum(time) / (:to - :from)), sum(time), sum(n), NULL
FROM wait_reasons
JOIN who USING (utid)
WHERE reason IN ('swap in', 'memory reclaim') AND utid IN chosen
GROUP BY process, pid, reason
