-- SPDX-License-Identifier: Apache-2.0
-- @title fsync storm
-- @needs event raw_syscalls/sys_exit or source linux.waits
-- @record syscalls
-- @threshold share_pct 20 of the syncing threads' time
-- @threshold per_s 20
-- @words {process} called {call} {per_s} times a second and spent {time_ns} in it, {share_pct} % of the calling threads' time
-- @more report waits -p {pid}
WITH calls AS MATERIALIZED (
  SELECT t.utid, s.name, s.ts, s.dur
  FROM slice s
  JOIN thread_track t ON t.id = s.track_id
  WHERE s.name GLOB '*sync*' AND s.name IN ('sys_fsync', 'sys_fdatasync', 'sys_sync', 'sys_syncfs', 'sys_msync',
      'sys_sync_file_range') AND s.dur >= 0 AND s.ts + s.dur > :from AND s.ts < :to AND t.utid IN chosen),
n AS (
  SELECT who.process, who.pid, calls.name, count(*) AS n, sum(dur) AS time, max(dur) AS worst, ts, count(DISTINCT utid) AS
      threads
  FROM calls
  JOIN who USING (utid)
  GROUP BY who.process, who.pid, calls.name
  UNION ALL
  -- Without system calls, the waits are the evidence. The number of their threads is not known: it
  -- counts as one.
  SELECT who.process, who.pid, r.reason, sum(n), sum(time), NULL, NULL, 1
  FROM wait_reasons r
  JOIN who USING (utid)
  WHERE r.reason IN ('fsync', 'sync', 'msync') AND utid IN chosen AND NOT EXISTS (SELECT 1 FROM calls)
  GROUP BY who.process, who.pid, r.reason)
SELECT process, pid, replace(name, 'sys_', '') AS call, min(100, 100.0 * time / threads / (:to - :from)) AS share_pct,
    1e9 * n / (:to - :from) AS per_s, n AS calls, time AS time_ns, worst AS longest_ns, ts AS at_ts, threads
FROM n
