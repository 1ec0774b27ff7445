-- SPDX-License-Identifier: Apache-2.0
-- Programs that begin processes at a high rate, most of which end at once, or do not end at all.
--
-- @title Runaway forks
-- @needs event sched/sched_process_fork or event task/task_newtask
-- @record sched
-- @threshold per_s 200
-- @threshold share_pct 50 of the processes, which ended within 50 ms or not at all
-- @threshold processes 300
-- @words {program} began {processes} processes, {per_s} a second; {short_lived} of them ended within 50 ms, {alive} still run
-- @more report cpu --by program
WITH born AS MATERIALIZED (
  SELECT p.upid, p.start_ts, p.end_ts, coalesce((SELECT m.name FROM thread m WHERE m.upid = p.parent_upid AND m.is_main_thread), '')
      AS program, (SELECT pid FROM process q WHERE q.upid = p.parent_upid) AS pid
  FROM process p
  WHERE p.start_ts > :from AND p.start_ts < :to AND p.parent_upid IS NOT NULL)
SELECT program, count(*) AS processes, 1e9 * count(*) / (max(start_ts) - min(start_ts) + 100000000) AS per_s,
    100.0 * sum(end_ts IS NULL OR end_ts - start_ts < 50000000) / count(*) AS share_pct, sum(end_ts - start_ts < 50000000) AS
    short_lived, sum(end_ts IS NULL) AS alive, min(start_ts) AS at_ts, pid
FROM born
GROUP BY program
