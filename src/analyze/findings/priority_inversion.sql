-- SPDX-License-Identifier: Apache-2.0
-- A thread waits for a lock whose owner has a lower priority, and the owner does not get a CPU. Priorities are those of the kernel: a
-- lower number is a higher priority. The owner is the thread that ended the wait.
--
-- @title Priority inversion
-- @needs table sched
-- @needs source linux.waits
-- @record sched waits
-- @threshold share_pct 5 of the time in which the thread ran, could have run or waited for the lock
-- @threshold inverted_pct 2 of the window
-- @words {thread} (priority {priority}) waited for a {lock} of {owner} (priority {owner_priority}), which could not run for {inverted_ns}, mostly because of {ran_meanwhile}
-- @more report why {tid}
WITH w AS MATERIALIZED (
  SELECT s.utid, s.ts, s.dur, s.reason, (SELECT max(o.utid) FROM thread o WHERE o.tid = extract_arg(g.arg_set_id,
      'debug.waker tid')) AS owner
  FROM single_waits('', 0) s
  JOIN slice g ON g.id = s.slice
  WHERE NOT s.condition AND s.dur > 1000000 AND s.reason IN ('futex', 'mutex', 'rwsem', 'rt mutex', 'percpu rwsem',
      'kernel semaphore')),
prio AS MATERIALIZED (
  SELECT utid, max(priority) AS priority
  FROM sched
  WHERE utid IN (SELECT utid FROM w UNION SELECT owner FROM w)
  GROUP BY utid),
pairs AS MATERIALIZED (
  SELECT w.*, a.priority, b.priority AS owner_priority
  FROM w
  JOIN prio a ON a.utid = w.utid
  JOIN prio b ON b.utid = w.owner
  WHERE a.priority < b.priority),
waits AS MATERIALIZED (
  SELECT utid, ts, dur
  FROM thread_state
  WHERE state IN ('R', 'R+') AND dur > 0 AND utid IN (SELECT owner FROM pairs)),
inverted AS (
  SELECT p.utid, p.owner, p.priority, p.owner_priority, p.reason, p.ts, sum(min(p.ts + p.dur, r.ts + r.dur) - max(p.ts,
      r.ts)) AS time
  FROM pairs p
  JOIN waits r ON r.utid = p.owner AND r.ts < p.ts + p.dur AND r.ts + r.dur > p.ts
  GROUP BY p.utid, p.ts),
total AS (
  SELECT utid, owner, priority, owner_priority, reason, max(time) AS worst, ts, sum(time) AS time, count(*) AS n
  FROM inverted
  GROUP BY utid, owner),
locked AS (
  SELECT utid, sum(dur) AS time
  FROM w
  GROUP BY utid)
SELECT a.thread || ' ' || a.tid AS thread, a.tid, t.priority, t.reason AS lock, b.thread || ' ' || b.tid AS owner, owner_priority,
    100.0 * t.time / (run + runnable + locked.time) AS share_pct, t.time AS inverted_ns, 100.0 * t.time / (:to - :from) AS inverted_pct, n AS times, worst AS longest_ns,
    t.ts AS at_ts, (SELECT m.thread || ' ' || m.tid FROM held_cpu h JOIN who m ON m.utid = h.holder WHERE h.utid = t.owner
    ORDER BY h.time DESC LIMIT 1) AS ran_meanwhile
FROM total t
JOIN who a ON a.utid = t.utid
JOIN who b ON b.utid = t.owner
JOIN thread_time x ON x.utid = t.utid
JOIN locked ON locked.utid = t.utid
