-- SPDX-License-Identifier: Apache-2.0
-- sonda report end: the state of the machine at the end of the window: what each CPU did last, who
-- ran, who waited and since when. For the last moments before a crash (sonda report --boot -1).
--
-- @help the state at the end: what each CPU did last, who ran, who waited
-- @records sched

-- console(id, ts, cpu, utid, message): what the kernel logged.
-- @define CONSOLE
console AS MATERIALIZED (
  SELECT id, ts, cpu, utid, rtrim(extract_arg(arg_set_id, 'msg'), char(10) || ' ') AS message
  FROM ftrace_event
  WHERE name = 'console' AND ts >= :from AND ts <= :to)

-- stop(ts): when the machine stopped: the kernel's panic, or the end of the window.
-- @define STOP
$CONSOLE,
stop AS (
  SELECT coalesce(min(ts), :to) AS ts
  FROM console
  WHERE message GLOB 'Kernel panic*')

-- last(id, utid, ts, state, ...): the row of thread_state that each chosen thread is in at the end
-- of the window.
-- @define LAST_STATE
last AS MATERIALIZED (
  SELECT *
  FROM (SELECT *, max(ts) FROM thread_state WHERE ts <= :to AND utid IN chosen GROUP BY utid)
  WHERE dur < 0 OR ts + dur > :to)

-- @define WAITING(state, columns)
WITH $STOP, $LAST_STATE
SELECT max(0, stop.ts - last.ts) AS waited_ns, last.ts AS since_ts, $columns, $WHO
FROM last
CROSS JOIN stop $WHO_FROM
WHERE $state
ORDER BY last.ts, utid
LIMIT :top + :more

-- The last messages, from the first one that no silence of a second follows; without registers and
-- addresses that may not be callers.
-- @section Kernel messages
-- @key kernel_messages
-- @note the last messages, without registers
-- @of_machine
WITH $CONSOLE, gap AS (
  SELECT *, ts - lag(ts) OVER (ORDER BY ts, id) AS silence
  FROM console)
SELECT ts AS at_ts, cpu, message
FROM gap
WHERE ts >= (SELECT max(ts) FROM gap WHERE silence IS NULL OR silence > 1000000000) AND NOT
    (message GLOB 'R[0-9ABCDS][0-9XIP]:*' OR message GLOB '[FC]S: *' OR message GLOB '[CD]R[0-9]: *'
    OR message GLOB 'Code: *' OR message GLOB ' [?] *' OR message GLOB ' ORIG_RAX:*' OR message GLOB
    ' <*>' OR message GLOB 'PKRU: *')
ORDER BY ts, id
LIMIT :top + :more

-- @section CPUs
-- @key cpus
-- @note who ran last, and in which interrupt or work item; silent: no event until the end
-- @of_machine
WITH $STOP, event AS (
  SELECT cpu, name, max(ts) AS ts
  FROM ftrace_event
  WHERE ts <= :to
  GROUP BY cpu),
run AS (
  SELECT cpu, utid, max(ts) AS ts
  FROM sched
  WHERE ts <= :to
  GROUP BY cpu)
SELECT event.cpu, $THREAD(thread) AS thread, max(0, stop.ts - run.ts) AS runs_for_ns,
    coalesce($INTERRUPT_AT(event.cpu, :to), $SLICE_AT(run.utid, :to)) AS runs_in,
    event.name AS last_event, event.ts AS at_ts, max(0, stop.ts - event.ts) AS silent_ns
FROM event
CROSS JOIN stop
LEFT JOIN run USING (cpu)
LEFT JOIN thread USING (utid)
ORDER BY event.cpu

-- @section Waited for a CPU
-- @key runnable
-- @note at the end, the longest first
$WAITING(last.state IN ('R', 'R+'), (SELECT $THREAD(w) FROM thread w WHERE w.utid = last.waker_utid)
    AS woken_by)

-- @section Blocked
-- @key blocked
-- @note threads in uninterruptible sleep at the end, longest first
$WAITING(last.state GLOB 'D*', coalesce(last.blocked_function, $SLICE_AT(last.utid, :to))
    AS waits_in)

-- @section Reported as hung
-- @key hung
-- @note by the kernel's hung task detector
SELECT f.ts AS at_ts, extract_arg(f.arg_set_id, 'comm') AS thread,
    extract_arg(f.arg_set_id, 'pid') AS tid
FROM ftrace_event f
WHERE f.name = 'sched_process_hang' AND f.ts >= :from AND f.ts <= :to
ORDER BY f.ts, f.id
LIMIT :top + :more

-- @section Last events of each CPU
-- @key last_events
-- @of_machine
WITH numbered AS (
  SELECT id, ts, cpu, name, utid, arg_set_id, row_number() OVER (PARTITION BY cpu ORDER BY ts DESC,
      id DESC) AS n
  FROM ftrace_event
  WHERE name != 'console' AND ts >= :from AND ts <= :to)
SELECT e.cpu, e.ts AS at_ts, e.name AS event, $THREAD(thread) AS thread, (SELECT
    group_concat(a.flat_key || '=' || coalesce(a.string_value, a.int_value), ' ') FROM args a WHERE
    a.arg_set_id = e.arg_set_id) AS fields
FROM numbered e
LEFT JOIN thread USING (utid)
WHERE n <= 4
ORDER BY e.cpu, e.ts, e.id
