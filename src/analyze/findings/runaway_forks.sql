-- SPDX-License-Identifier: Apache-2.0
-- A process that begins processes at a high rate, most of which end at once or not at all; or a
-- program whose processes together keep beginning more of them that do not end. The many short
-- processes of a build have many parents, and end.
--
-- @title Runaway forks
-- @needs event sched/sched_process_fork or event task/task_newtask
-- @record sched
-- @threshold per_s 100
-- @threshold share_pct 50 of the processes ended within 50 ms, or are still running
-- @threshold processes 300
-- @words {program} started {processes} processes, {per_s} a second; {short_lived} of them exited within 50 ms, {alive} are still running
-- @more report cpu --by program
-- A process ends with sched_process_exit. Its end_ts is later, and unknown in recordings of some
-- threads, since sched_process_free comes from any thread.
WITH exits AS MATERIALIZED (
  SELECT upid, min(ts) AS ts
  FROM ftrace_event e
  JOIN thread USING (utid)
  WHERE e.name = 'sched_process_exit' AND is_main_thread
  GROUP BY upid),
born AS MATERIALIZED (
  SELECT p.start_ts, coalesce(exits.ts, p.end_ts) AS end_ts, p.parent_upid, coalesce((SELECT m.name FROM thread m WHERE m.upid = p.parent_upid AND
      m.is_main_thread), '') AS program
  FROM process p
  LEFT JOIN exits USING (upid)
  WHERE p.start_ts > :from AND p.start_ts < :to AND p.parent_upid IS NOT NULL),
parents AS (
  SELECT program, (SELECT pid FROM process WHERE upid = parent_upid) AS pid, count(*) AS n, min(start_ts) AS first, max(start_ts) AS
      last, coalesce(sum(end_ts - start_ts < 50000000), 0) AS short, sum(end_ts IS NULL) AS alive
  FROM born
  GROUP BY parent_upid
  UNION ALL
  SELECT program, NULL, count(*), min(start_ts), max(start_ts), 0, count(*)
  FROM born
  WHERE end_ts IS NULL
  GROUP BY program
  HAVING count(DISTINCT parent_upid) > 1)
SELECT program, pid, n AS processes, 1e9 * n / (last - first + 100000000) AS per_s, 100.0 * (short + alive) / n AS share_pct,
    short AS short_lived, alive, first AS at_ts, last AS last_ts
FROM parents
