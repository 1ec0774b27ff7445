-- SPDX-License-Identifier: Apache-2.0
-- sonda report waits: why threads were blocked, in which of their functions, and who ended that.
--
-- Times of totals are exact. The times of a thread are those of its single waits above the
-- threshold of the recording, unless the recording has totals by thread.
--
-- @help why threads were blocked, in which code, and who woke them
-- @records waits

-- @define WHAT(rank)
CASE $rank WHEN 0 THEN 'held up' WHEN 1 THEN 'for others' ELSE 'idle' END

-- @section Reasons
-- @key reasons
-- @by reason
-- @note held up: by a disk, a lock, memory or a limit; idle: nothing to do
WITH w AS MATERIALIZED (
  SELECT $REASON AS reason, sum(time) AS time, sum(n) AS n
  FROM code_waits('waits')
  GROUP BY 1),
longest AS MATERIALIZED (
  SELECT $REASON AS reason, max(worst) AS worst
  FROM code_waits('single')
  GROUP BY 1)
SELECT $WHAT($RANK(w.reason)) AS what, w.reason AS waits_for, time AS blocked_ns,
    100.0 * time / (SELECT sum(time) FROM w) AS share_pct, n AS waits, time / max(1, n) AS mean_ns,
    longest.worst AS longest_ns
FROM w
LEFT JOIN longest ON longest.reason IS w.reason
ORDER BY $RANK(w.reason), time DESC
LIMIT :top + :more

-- @section Functions that waited
-- @key functions
-- @by function
-- @note the thread's own function, not that of a library
WITH w AS (
  SELECT $REASON AS reason, function, file, sum(time) AS time, sum(n) AS n
  FROM code_waits('waits')
  GROUP BY 1, 2, 3)
SELECT $WHAT($RANK(reason)) AS what, time AS blocked_ns, n AS waits, coalesce(function,
    '(no stack taken)') AS function, file, reason AS waits_for
FROM w
ORDER BY $RANK(reason), time DESC
LIMIT :top + :more

-- @section Locks
-- @key locks
-- @by lock
-- @note who held the locks, how that is known, and what the holder did during the waits
WITH l AS (
  SELECT object, function, holder, known, sum(dur) AS time, count(*) AS n, sum(ran) AS ran,
      sum(waited) AS waited, max(blocked) AS worst, sum(blocked) AS blocked, reason, did
  FROM lock_waits
  GROUP BY 1, 2, 3, 4)
SELECT l.time AS blocked_ns, l.n AS waits, object AS lock, function, coalesce($THREAD(h),
    '(not recorded)') AS held_by, known AS known_by, 100.0 * ran / max(1, l.time) AS ran_pct,
    100.0 * waited / max(1, l.time) AS waited_for_cpu_pct, 100.0 * blocked / max(1, l.time)
    AS blocked_pct, reason AS holder_waits_for, did AS holder_function
FROM l
LEFT JOIN thread h ON h.utid = l.holder
ORDER BY l.time DESC
LIMIT :top + :more

-- @section Longest waits
-- @key longest_waits
-- @by wait
-- @note excluding idle waits; with the function that ended each wait
SELECT coalesce(s.dur, :to - s.ts) AS wait_ns, s.ts AS at_ts, $REASON AS waits_for, s.function,
    coalesce(iif(extract_arg(g.arg_set_id, 'debug.waker in interrupt'), 'interrupt',
    extract_arg(g.arg_set_id, 'debug.waker') || ' ' || extract_arg(g.arg_set_id,
    'debug.waker tid')), iif(s.dur IS NULL, 'still waits', NULL)) AS woken_by,
    s.waker AS waker_in, $THREAD(thread) AS thread
FROM single_waits('', 0) s
JOIN slice g ON g.id = s.slice
JOIN thread USING (utid)
WHERE $RANK($REASON) < 2
ORDER BY wait_ns DESC, s.ts
LIMIT :top + :more

-- @section Left out
-- @key left_out
-- @of_trace
-- @note single waits above a limit; waits missing from every table; totals without a user stack
WITH v AS (
  SELECT sum(iif(name IN ('sonda_waits_left_out', 'sonda_waits_ring_full'), value, 0)) AS
        single_waits,
      sum(iif(name = 'sonda_waits_missing', value, 0)) AS not_counted,
      sum(iif(name = 'sonda_waits_without_stack', value, 0)) AS without_user_stack
  FROM stats)
SELECT *
FROM v
WHERE single_waits + not_counted + without_user_stack > 0

-- @section Threads
-- @key threads
-- @by thread
WITH w AS (
  SELECT utid, $REASON AS reason, sum(time) AS time, sum(n) AS n
  FROM code_waits('single')
  GROUP BY 1, 2)
SELECT $WHAT($RANK(reason)) AS what, time AS blocked_ns, n AS waits, reason AS waits_for, $WHO
FROM w $WHO_FROM
ORDER BY $RANK(reason), time DESC
LIMIT :top + :more

-- @section Processes
-- @key processes
-- @by process
-- @on_request
WITH $BY_PROCESS, w AS (
  SELECT who, $REASON AS reason, sum(time) AS time, sum(n) AS n
  FROM code_waits('waits')
  JOIN grp USING (utid)
  GROUP BY 1, 2)
SELECT $WHAT($RANK(reason)) AS what, time AS blocked_ns, n AS waits, reason AS waits_for, $PROCESS
FROM w $PROCESS_FROM
ORDER BY $RANK(reason), time DESC
LIMIT :top + :more

-- @section By
-- @key by
-- @each container unit pod cgroup program
-- @on_request
WITH $BY_SUBJECT, t AS (
  SELECT who, $REASON AS reason, sum(time) AS time, sum(n) AS n
  FROM code_waits('waits')
  JOIN grp USING (utid)
  GROUP BY 1, 2)
SELECT $WHAT($RANK(reason)) AS what, time AS blocked_ns, n AS waits, reason AS waits_for, $SUBJECT
FROM t $SUBJECT_FROM
ORDER BY $RANK(reason), time DESC
LIMIT :top + :more

-- @section Stacks that waited
-- @heading Waiting stacks
-- @key stacks
-- @by stack
-- @on_request
-- @top 40
-- @note from the outermost function down; --top N also shows smaller ones
$CALL_TREE('waits down', total AS blocked_ns)

-- @section Functions that ended waits
-- @key wakers
-- @by waker
-- @on_request
-- @top 40
-- @note stacks of the wakers, and the duration of the waits that they ended
$CALL_TREE('wakers down', total AS blocked_ns)
