-- SPDX-License-Identifier: Apache-2.0
-- Several threads of a process that wait for locks in turn: each wakes the next one, and the process has work for them.
--
-- @title Lock convoy
-- @needs table sched
-- @needs source linux.waits
-- @record sched waits
-- @threshold share_pct 30 of the time in which its threads ran, could have run or waited for locks
-- @threshold threads 3
-- @threshold handovers_per_s 20
-- @threshold handover_pct 50 of the wakeups in the process
-- @threshold busy_pct 20 of the window
-- @words {threads} threads of {process} waited in turn for a {lock} in {function}: {waited_ns}, {share_pct} % of their time; one thread woke the next {handovers_per_s} times a second
-- @more report waits -p {pid}
WITH locks AS MATERIALIZED (
  SELECT t.upid, reason, function, sum(time) AS time, sum(n) AS n
  FROM wait_reasons
  JOIN thread t USING (utid)
  WHERE reason IN ('futex', 'mutex', 'rwsem', 'rt mutex', 'percpu rwsem', 'kernel semaphore', 'VMA lock', 'file lock')
  GROUP BY 1, 2, 3),
lock AS MATERIALIZED (
  SELECT upid, reason, function, max(time), sum(time) AS time, sum(n) AS n
  FROM locks
  GROUP BY upid),
wakes AS MATERIALIZED (
  SELECT a.upid, waker, woken, n
  FROM wakes_by('thread') w
  JOIN thread a ON a.utid = w.waker
  JOIN thread b ON b.utid = w.woken
  WHERE a.upid = b.upid AND w.waker != w.woken),
-- Threads that wake others of the process, and are woken by others of it.
members AS MATERIALIZED (
  SELECT upid, woken AS utid
  FROM wakes
  GROUP BY upid, woken
  HAVING sum(n) >= 5
  INTERSECT
  SELECT upid, waker
  FROM wakes
  GROUP BY upid, waker
  HAVING sum(n) >= 5),
handovers AS (
  SELECT upid, count(DISTINCT woken) AS threads, sum(n) AS n
  FROM wakes
  WHERE waker IN (SELECT utid FROM members) AND woken IN (SELECT utid FROM members)
  GROUP BY upid),
all_wakes AS (
  SELECT upid, sum(n) AS n
  FROM wakes
  GROUP BY upid),
busy AS (
  SELECT t.upid, sum(run) AS run, sum(runnable) AS runnable
  FROM thread_time
  JOIN thread t USING (utid)
  GROUP BY t.upid)
SELECT p.process, p.pid, h.threads, 100.0 * l.time / (l.time + run + runnable) AS share_pct, l.time AS waited_ns, l.n AS waits,
    l.reason AS lock, coalesce(l.function, '(no stack)') AS function, 1e9 * h.n / (:to - :from) AS handovers_per_s,
    100.0 * h.n / a.n AS handover_pct, 100.0 * (run + runnable) / (:to - :from) AS busy_pct
FROM lock l
JOIN handovers h USING (upid)
JOIN all_wakes a USING (upid)
JOIN busy USING (upid)
JOIN (SELECT DISTINCT upid, process, pid FROM who) p USING (upid)
