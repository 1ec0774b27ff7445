-- SPDX-License-Identifier: Apache-2.0
-- One event wakes many threads of a process, most of which go to sleep again at once without waking anybody.
--
-- @title Thundering herd
-- @needs event sched/sched_waking
-- @record sched
-- @threshold share_pct 30 of these wakeups found nothing to do
-- @threshold threads 4 woken at once, on average
-- @threshold per_s 5 such events
-- @words {waker} woke {threads} threads of {process} at once, {per_s} times a second; {share_pct} % of these wakeups were in vain
-- @more report wakeups -p {pid}
WITH wakes AS MATERIALIZED (
  SELECT id, ts, utid, coalesce(iif(irq_context = 1, NULL, waker_utid), -1) AS waker, waker_id, lead(id) OVER (PARTITION BY utid
      ORDER BY ts) AS next_id
  FROM thread_state
  WHERE state = 'R' AND waker_utid IS NOT NULL AND ts >= :from AND ts < :to),
steps AS (
  SELECT wakes.*, t.upid, ts - lag(ts, 1, 0) OVER (PARTITION BY waker, t.upid ORDER BY ts) > 300000 AS begins
  FROM wakes
  JOIN thread t USING (utid)
  WHERE t.upid IS NOT NULL AND utid IN chosen),
bursts AS MATERIALIZED (
  SELECT id, ts, utid, upid, waker, sum(begins) OVER (PARTITION BY waker, upid ORDER BY ts) AS burst
  FROM steps),
herds AS MATERIALIZED (
  SELECT upid, waker, burst, count(DISTINCT utid) AS threads, min(ts) AS ts
  FROM bursts
  GROUP BY 1, 2, 3
  HAVING count(DISTINCT utid) >= 4),
-- The runs after these wakeups.
runs AS MATERIALIZED (
  SELECT r.id, r.utid, r.ts, r.dur, lag(r.id) OVER (PARTITION BY r.utid ORDER BY r.ts) AS wake_id, lead(r.state) OVER (PARTITION
      BY r.utid ORDER BY r.ts) AS state, r.state AS this
  FROM thread_state r
  WHERE r.utid IN (SELECT utid FROM bursts)),
vain AS MATERIALIZED (
  SELECT wake_id
  FROM runs
  WHERE this = 'Running' AND dur BETWEEN 0 AND 100000 AND state IN ('S', 'I') AND id NOT IN (SELECT waker_id FROM wakes WHERE
      waker_id IS NOT NULL)),
total AS (
  SELECT h.upid, h.waker, count(DISTINCT h.burst) AS herds, count(*) AS wakeups, sum(b.id IN (SELECT wake_id FROM vain)) AS vain,
      min(h.ts) AS ts
  FROM herds h
  JOIN bursts b USING (upid, waker, burst)
  GROUP BY h.upid, h.waker)
SELECT p.process, p.pid, coalesce((SELECT thread || ' ' || tid FROM who WHERE utid = waker), 'an interrupt') AS waker,
    CAST(round(1.0 * wakeups / herds) AS INTEGER) AS threads, 100.0 * vain / wakeups AS share_pct, 1e9 * herds / (:to - :from) AS
    per_s, wakeups, vain AS in_vain, total.ts AS at_ts
FROM total
JOIN (SELECT DISTINCT upid, process, pid FROM who) p USING (upid)
