-- SPDX-License-Identifier: Apache-2.0
-- sonda report latency: how long threads waited for a CPU.
--
-- @help how long threads waited for a CPU: p50, p99, the longest, and which thread ran
-- @records sched

-- by: what waits are counted by.
-- @define WAITS_BY(by, columns, from)
SELECT $columns, t.woken AS wakeups, n - t.woken AS preempted, total / n AS mean_ns, p50 AS p50_ns,
    p99 AS p99_ns, worst AS max_ns, worst_ts AS max_at_ts
FROM waits_by('$by') t $from
ORDER BY worst DESC, t.who
LIMIT :top + :more

-- @section Waits for a CPU, by thread
-- @key waits_by_thread
-- @by thread
-- @more why
$WAITS_BY(thread, $WHO, JOIN thread ON utid = who LEFT JOIN process USING (upid))

-- @section Waits for a CPU, by process
-- @key waits_by_process
-- @by process
-- @on_request
$WAITS_BY(process, $PROCESS, $PROCESS_FROM)

-- @section Waits for a CPU, by program
-- @key waits_by_program
-- @by program
-- @on_request
$WAITS_BY(program, $PROGRAM, )

-- @section Waits for a CPU, by
-- @key waits_by
-- @each container unit pod cgroup
-- @on_request
$WAITS_BY($subject, $SUBJECT, $SUBJECT_FROM)

-- @define COUNTED_BY(by)
SELECT $SUBJECT, n AS waits, total / n AS mean_ns, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns,
    nullif(quota, 0) AS quota_ns
FROM cgroup_waits_by('$by') t $SUBJECT_FROM
WHERE n > 0 OR quota > 0
ORDER BY worst DESC, t.who
LIMIT :top + :more

-- @section Waits for a CPU, counted in the kernel, by
-- @key counted_waits_by
-- @each cgroup
-- @note quota: waits for its own quota, not included in the other columns
-- @of_machine
$COUNTED_BY($subject)

-- @section Waits for a CPU, counted in the kernel, by
-- @key counted_waits_by
-- @each container unit pod
-- @on_request
-- @of_machine
$COUNTED_BY($subject)

-- @section Longest waits
-- @key longest_waits
$WORST_WAITS

-- @section Late timers
-- @key late_timers
-- @by thread
-- @note how late a timer ended a sleep
-- @lacks timers
$LATE_TIMERS

-- @section All waits
-- @key waits_by_length
WITH h AS (
  SELECT who AS length, n
  FROM waits_by('length'))
$HISTOGRAM(waits)
