-- SPDX-License-Identifier: Apache-2.0
-- Module sched.time_in_state of trace_processor's library: how long threads are in each state.

CREATE PERFETTO TABLE sched_time_in_state_for_thread(
  utid JOINID(thread.id), total_runtime LONG, state STRING, time_in_state LONG, percentage_in_state LONG) AS
SELECT utid, total_runtime, state, time_in_state, time_in_state * 100 / total_runtime AS percentage_in_state
FROM (
  SELECT utid, state, sum(dur) AS time_in_state, sum(sum(dur)) OVER (PARTITION BY utid) AS total_runtime
  FROM thread_state
  GROUP BY utid, state)
ORDER BY utid, state;

CREATE PERFETTO TABLE sched_percentage_of_time_in_state(
  utid JOINID(thread.id), running LONG, runnable LONG, runnable_preempted LONG, sleeping LONG, uninterruptible_sleep LONG,
  other LONG) AS
SELECT utid,
    sum(percentage_in_state) FILTER (WHERE state = 'Running') AS running,
    sum(percentage_in_state) FILTER (WHERE state = 'R') AS runnable,
    sum(percentage_in_state) FILTER (WHERE state = 'R+') AS runnable_preempted,
    sum(percentage_in_state) FILTER (WHERE state = 'S') AS sleeping,
    sum(percentage_in_state) FILTER (WHERE state = 'D') AS uninterruptible_sleep,
    sum(time_in_state) FILTER (WHERE state NOT IN ('Running', 'R', 'R+', 'S', 'D')) * 100 / total_runtime AS other
FROM sched_time_in_state_for_thread
GROUP BY utid;

CREATE PERFETTO FUNCTION sched_time_in_state_for_thread_in_interval(ts TIMESTAMP, dur DURATION, utid JOINID(thread.id))
RETURNS TABLE(state STRING, io_wait BOOL, blocked_function LONG, dur DURATION) AS
SELECT state, io_wait, blocked_function, sum(min(s.ts + s.dur, $ts + $dur) - max(s.ts, $ts)) AS dur
FROM thread_state s
WHERE s.utid = $utid AND s.dur > 0 AND s.ts < $ts + $dur AND s.ts + s.dur > $ts
GROUP BY state, io_wait, blocked_function
ORDER BY dur DESC;

CREATE PERFETTO FUNCTION sched_time_in_state_and_cpu_for_thread_in_interval(
  ts TIMESTAMP, dur DURATION, utid JOINID(thread.id))
RETURNS TABLE(state STRING, io_wait BOOL, cpu LONG, blocked_function LONG, dur DURATION) AS
SELECT state, io_wait, cpu, blocked_function, sum(min(s.ts + s.dur, $ts + $dur) - max(s.ts, $ts)) AS dur
FROM thread_state s
WHERE s.utid = $utid AND s.dur > 0 AND s.ts < $ts + $dur AND s.ts + s.dur > $ts
GROUP BY state, io_wait, cpu, blocked_function
ORDER BY dur DESC;

CREATE PERFETTO FUNCTION sched_time_in_state_for_cpu_in_interval(cpu LONG, ts TIMESTAMP, dur LONG)
RETURNS TABLE(end_state STRING, dur LONG) AS
SELECT end_state, sum(min(s.ts + s.dur, $ts + $dur) - max(s.ts, $ts)) AS dur
FROM sched s
WHERE s.cpu = $cpu AND s.dur > 0 AND s.ts < $ts + $dur AND s.ts + s.dur > $ts
GROUP BY end_state;
