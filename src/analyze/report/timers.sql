-- SPDX-License-Identifier: Apache-2.0
-- sonda report timers: when timers fired, against when they were due.
--
-- @help late timers: by thread and function, how late, and why
-- @records sched timer irq

-- @define LATENESS
n AS times, total / n AS mean_ns, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns,
    worst_ts AS due_at_ts

-- @define SLEEPS
$LATENESS, late AS timer_late_ns, waited AS waited_for_cpu_ns

-- @define LATE_REASON(number)
CASE $number WHEN 0 THEN 'in time (less than 10 us late)' WHEN 1 THEN 'another timer' WHEN 2 THEN 'an interrupt'
    WHEN 3 THEN 'the CPU was idle' WHEN 4 THEN 'interrupts were off' WHEN 5 THEN
    'interrupts were off, or the hypervisor did not run the CPU' WHEN 6 THEN 'deferrable' ELSE
    'timer wheel: a later tick' END

-- @section Sleeps that a timer ended, by thread
-- @heading Timer sleeps, by thread
-- @key sleeps_by_thread
-- @by thread
-- @note from when the timer was due until the thread ran; the last columns break down the longest
-- @lacks timers
SELECT $WHO, $SLEEPS
FROM timer_sleeps_by('thread') t
JOIN thread ON utid = who
LEFT JOIN process USING (upid)
ORDER BY worst DESC, who
LIMIT :top + :more

-- @section Sleeps that a timer ended, by process
-- @heading Timer sleeps, by process
-- @key sleeps_by_process
-- @by process
-- @on_request
-- @lacks timers
SELECT $PROCESS, $SLEEPS
FROM timer_sleeps_by('process') t $PROCESS_FROM
ORDER BY worst DESC, t.who
LIMIT :top + :more

-- @section Sleeps that a timer ended, by
-- @heading Timer sleeps, by
-- @key sleeps_by
-- @each container unit pod cgroup program
-- @on_request
-- @lacks timers
SELECT $SUBJECT, $SLEEPS
FROM timer_sleeps_by('$subject') t $SUBJECT_FROM
ORDER BY worst DESC, t.who
LIMIT :top + :more

-- @section Longest sleeps
-- @key longest_sleeps
-- @by sleep
-- @note delay after the timer expired: until the wakeup, then until the thread ran
-- @lacks timers
SELECT late + waited AS total_ns, due_ts AS due_at_ts, late AS timer_late_ns,
    waited AS waited_for_cpu_ns, $WHO
FROM longest_timer_sleeps('', :top + :more) $WHO_FROM
ORDER BY total_ns DESC, due_ts
LIMIT :top + :more

-- @section Timers, by the function that they call
-- @heading Timers, by function
-- @key timers_by_function
-- @by function
-- @of_machine
SELECT function, iif(kind, 'timer wheel', 'hrtimer') AS kind, $LATENESS
FROM timers_by('function')
ORDER BY worst DESC, function
LIMIT :top + :more

-- @section Timers, by the reason why they were late
-- @heading Timers, by reason for being late
-- @key timers_by_reason
-- @by reason
-- @of_machine
SELECT $LATE_REASON(kind) AS reason, $LATENESS
FROM timers_by('reason')
ORDER BY kind
LIMIT :top + :more

-- @section Latest timers
-- @key latest_timers
-- @by latest
-- @note hrtimers; behind: the thread that was interrupted
-- @of_machine
SELECT late AS late_ns, due_ts AS due_at_ts, cpu, function, $THREAD(thread) AS behind,
    $LATE_REASON(reason) || coalesce(': ' || what, '') AS reason
FROM latest_timers('', :top + :more)
JOIN thread USING (utid)
ORDER BY late DESC, due_ts
