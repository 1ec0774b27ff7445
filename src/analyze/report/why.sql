-- SPDX-License-Identifier: Apache-2.0
-- sonda report why: what a thread waited for, who ended its waits, and who had its CPU meanwhile.
--
--	thread   ...Running| S or D: off   | R: wake      |Running...
--	waker              ...Running: ran, then woke it
--
-- A wait for something other than a CPU (table off) ends with the row of state R that names the
-- waker (wake_id).
--
-- @help why a thread did not run: its waits, who woke it, who had the CPU
-- @records sched
-- @of_thread

-- From the wakeup in the table k: the waker (its thread w, its run q, NULL if it is not known),
-- and what it did.
-- @define WAKER_FROM
LEFT JOIN thread w ON w.utid = k.waker_utid
LEFT JOIN thread_state q ON q.id = k.waker_id

-- @define WOKEN_BY
iif(k.irq_context = 1 OR w.is_idle, 'interrupt', $THREAD(w))

-- @define WAKER_DID
iif(k.irq_context = 1 OR w.is_idle, $INTERRUPT_AT(q.ucpu, k.ts), $SLICE_AT(k.waker_utid, k.ts))

-- @define STATE(t)
CASE WHEN $t.state IS NULL THEN 'new' WHEN $t.state = 'Running' THEN 'running' WHEN $t.state GLOB
    'D*' AND $t.io_wait THEN 'blocked (I/O)' WHEN $t.state GLOB 'D*' THEN 'blocked' WHEN $t.state =
    'S' THEN 'asleep' WHEN $t.state = 'I' THEN 'idle' WHEN $t.state IN ('R',
    'R+') THEN 'runnable' WHEN $t.state GLOB 'T*' OR $t.state = 't' THEN 'stopped' WHEN $t.state IN
    ('Z', 'X') THEN 'ended' ELSE $t.state END

-- off(id, utid, state, io_wait, blocked_function, ts, dur, wake_id): the longest waits that a
-- wakeup ended in the window.
-- @define OFF(limit)
off AS MATERIALIZED (
  SELECT o.id, o.utid, o.state, o.io_wait, o.blocked_function, o.ts, o.dur, e.wake_id
  FROM longest_sleeps('', $limit) e
  CROSS JOIN thread_state o ON o.id = e.id
  ORDER BY o.dur DESC, e.wake_id)

-- code(id, reason, function, waker): what linux.waits recorded about the waits in off: the single
-- wait that began within 50 us of the switch.
-- @define CODE
code AS MATERIALIZED (
  SELECT o.id, $REASON AS reason, s.function, s.waker, min(abs(s.ts - o.ts))
  FROM off o
  JOIN waits s ON s.utid = o.utid AND s.ts BETWEEN o.ts - 50000 AND o.ts + 50000
  GROUP BY o.id)

-- @define WAITS
waits AS MATERIALIZED (
  SELECT *
  FROM single_waits('', 0))

-- A column of the single wait that belongs to the row o of thread_state.
-- @define CODE_OF(column)
(SELECT s.$column FROM waits s WHERE s.utid = o.utid AND s.ts BETWEEN o.ts - 50000 AND o.ts + 50000
    LIMIT 1)

-- Idle waits come last.
-- @define WORST_FIRST
code.id IS NOT NULL AND $RANK(code.reason) = 2, off.dur DESC

-- chain(step, wake_id, since): the wakeup of the longest wait, the last wakeup of its waker before
-- that, and so on, as long as the waker was woken while the first thread waited.
-- @define CHAIN
worst AS (
  SELECT wake_id, ts
  FROM off
  LEFT JOIN code USING (id)
  ORDER BY $WORST_FIRST
  LIMIT 1),
chain AS (
  SELECT 1 AS step, wake_id, ts AS since
  FROM worst
  UNION ALL
  SELECT step + 1, (SELECT p.id FROM thread_state p WHERE p.utid = k.waker_utid AND p.ts < k.ts AND
      p.ts > chain.since AND p.waker_utid IS NOT NULL ORDER BY p.ts DESC LIMIT 1), chain.since
  FROM chain
  JOIN thread_state k ON k.id = chain.wake_id
  WHERE step < 16 AND k.irq_context IS NOT 1)

-- @section Its time
-- @heading Time by state
-- @key time_by_state
-- @more sched
WITH t AS (
  SELECT utid, $STATE(spent) AS state, sum(time) AS total, sum(n + empty) AS n,
      max(longest) AS longest
  FROM spent
  WHERE utid IN chosen
  GROUP BY 1, 2)
SELECT state, total AS total_ns, 100.0 * total / (:to - :from) AS share_pct, n AS times,
    longest AS longest_ns, $WHO
FROM t $WHO_FROM
ORDER BY total DESC
LIMIT :top + :more

-- @section Waits for something else than a CPU
-- @heading Waits other than for a CPU
-- @key waits
-- @note the longest waits, and who ended them; idle waits last
-- @more wakeups
WITH late AS MATERIALIZED (
  SELECT id, late
  FROM late_timers),
$WAITS, $OFF(max(:top, 200)), $CODE
SELECT off.dur AS wait_ns, off.ts AS at_ts, $STATE(off) AS state, coalesce(code.reason,
    off.blocked_function, $SLICE_AT(off.utid, off.ts)) AS waits_in, code.function AS function,
    $WOKEN_BY AS woken_by, $WAKER_DID AS waker_in, code.waker AS waker_function,
    late.late AS timer_late_ns, k.ts - q.ts AS waker_ran_ns,
    (SELECT $WOKEN_BY FROM (SELECT * FROM thread_state p WHERE p.utid = off_waker.utid AND p.ts <
    off_wake.ts AND p.waker_utid IS NOT NULL ORDER BY p.ts DESC LIMIT 1) k LEFT JOIN thread w ON
    w.utid = k.waker_utid) AS waker_woken_by, $THREAD(me) AS thread
FROM off
JOIN thread_state k ON k.id = off.wake_id
JOIN thread_state off_wake ON off_wake.id = k.id
JOIN thread me ON me.utid = off.utid $WAKER_FROM
LEFT JOIN late ON late.id = k.id
LEFT JOIN code ON code.id = off.id
LEFT JOIN thread off_waker ON off_waker.utid = k.waker_utid AND NOT off_waker.is_idle AND
    k.irq_context IS NOT 1
ORDER BY $WORST_FIRST
LIMIT :top

-- @section Locks
-- @key locks
-- @note who held the locks during the longest waits, how that is known, and what the holder did
-- @more waits
SELECT l.dur AS wait_ns, l.ts AS at_ts, object AS lock, l.function, coalesce($THREAD(h),
    '(not recorded)') AS held_by, known AS known_by, ran AS holder_ran_ns, waited
    AS waited_for_cpu_ns, blocked AS was_blocked_ns, reason AS holder_waits_for, did AS holder_function,
    $THREAD(me) AS thread
FROM lock_waits l
JOIN thread me ON me.utid = l.utid
LEFT JOIN thread h ON h.utid = l.holder
ORDER BY l.dur DESC, l.ts
LIMIT :top

-- @section Chain of wakers
-- @key wakers
-- @note for the longest wait; each thread was woken by the next one
WITH RECURSIVE $WAITS, $OFF(200), $CODE, $CHAIN
SELECT step, $THREAD(me) AS thread, k.ts AS woken_ts, o.dur AS was_off_ns, $STATE(o) AS state,
    coalesce($CODE_OF(reason), o.blocked_function, $SLICE_AT(o.utid, o.ts)) AS waits_in,
    $CODE_OF(function) AS function, iif(k.dur < 0, NULL, k.dur) AS waited_for_cpu_ns, $WOKEN_BY AS
    woken_by, $WAKER_DID AS waker_in, $CODE_OF(waker) AS waker_function, k.ts - q.ts AS waker_ran_ns
FROM chain
JOIN thread_state k ON k.id = chain.wake_id
JOIN thread me ON me.utid = k.utid
LEFT JOIN thread_state o ON o.id = (SELECT id FROM thread_state WHERE utid = k.utid AND ts < k.ts
    ORDER BY ts DESC LIMIT 1) $WAKER_FROM
ORDER BY step

-- @section Late timers
-- @key late_timers
-- @by thread
-- @note how late a timer ended a sleep
-- @lacks timers
$LATE_TIMERS

-- @section Longest waits for a CPU
-- @key longest_cpu_waits
-- @more latency
$WORST_WAITS

-- @section Who had the CPU during these waits
-- @key who_had_cpu
-- @more cpu
WITH $PLACED, h AS (
  SELECT holder, time, times, first
  FROM held
  UNION ALL
  SELECT NULL, (SELECT sum(dur) FROM placed) - (SELECT coalesce(sum(time), 0) FROM held), NULL,
      NULL)
SELECT coalesce(iif(thread.is_idle, '(idle)', thread.name), '(not recorded)') AS thread,
    thread.tid, coalesce(process.name, '') AS process, sum(time) AS held_ns,
    100.0 * sum(time) / (SELECT sum(dur) FROM placed) AS of_the_waits_pct, count(times) AS waits,
    sum(times) AS runs, min(first) AS first_at_ts
FROM h
LEFT JOIN thread ON thread.utid = h.holder
LEFT JOIN process USING (upid)
GROUP BY h.holder
HAVING sum(time) > 0
ORDER BY held_ns DESC
LIMIT :top + :more

-- @section Host of this machine
-- @key vm_host
-- @note the host process that runs this guest, and how many vCPU switches agree
SELECT p.machine_id AS host, coalesce(p.name, t.name, '') AS process, p.pid, count(*) AS cpus,
    iif(min(has_entry), 'kvm_entry', 'names of threads') AS known_by, checked
    AS switches, outside AS off_cpu, behind AS clock_behind_ns, error AS clock_error_ns
FROM vm_host h
JOIN main.process p USING (upid)
LEFT JOIN main.thread t ON t.upid = p.upid AND t.is_main_thread
GROUP BY p.upid

-- @section Stolen time
-- @key stolen
-- @note the host did not run the CPU that the thread needed; behind: the host thread that ran
WITH s AS MATERIALIZED (
  SELECT *
  FROM stolen('', :top)),
behind AS (
  SELECT number, holder, max(time) AS time
  FROM s
  WHERE holder IS NOT NULL
  GROUP BY number)
SELECT s.dur AS stolen_ns, s.ts AS at_ts, iif(s.waits, 'waits', 'runs') AS guest, s.cpu,
    $THREAD(v) AS host_thread, s.host_cpu, s.blocked AS asleep_ns, $THREAD(k) AS woken_by,
    $THREAD(h) AS behind, behind.time AS held_ns, p.name AS process, $THREAD(me) AS thread
FROM s
JOIN main.thread me ON me.utid = s.utid
JOIN main.thread v ON v.utid = s.vcpu
LEFT JOIN main.thread k ON k.utid = s.waker
LEFT JOIN behind ON behind.number = s.number AND behind.time > s.blocked
LEFT JOIN main.thread h ON h.utid = behind.holder
LEFT JOIN main.process p ON p.upid = h.upid
WHERE s.holder IS NULL
ORDER BY s.dur DESC, s.number
LIMIT :top

-- @section Who had the CPU of the host
-- @heading Who had the host's CPU
-- @key who_stole
-- @note during all stolen times
WITH s AS MATERIALIZED (
  SELECT *
  FROM stolen('', 0)),
h AS (
  SELECT 0 AS kind, holder, time, n, ts
  FROM s
  WHERE holder IS NOT NULL
  UNION ALL
  SELECT 1, NULL, blocked, NULL, ts
  FROM s
  WHERE blocked > 0
  UNION ALL
  SELECT 2, NULL, (SELECT sum(dur) - sum(blocked) FROM s WHERE holder IS NULL) - (SELECT
      coalesce(sum(time), 0) FROM s WHERE holder IS NOT NULL), NULL, NULL)
SELECT CASE kind WHEN 0 THEN iif(t.is_idle, '(idle)', t.name) WHEN 1 THEN
    '(the host thread slept)' ELSE '(not recorded)' END AS thread, t.tid, coalesce(p.name,
    '') AS process, sum(time) AS held_ns, 100.0 * sum(time) / (SELECT sum(dur) FROM s
    WHERE holder IS NULL) AS of_the_stolen_pct, sum(n) AS runs, min(ts) AS first_at_ts
FROM h
LEFT JOIN main.thread t ON t.utid = h.holder
LEFT JOIN main.process p USING (upid)
GROUP BY kind, h.holder
HAVING sum(time) > 0
ORDER BY held_ns DESC
LIMIT :top + :more
