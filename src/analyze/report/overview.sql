-- SPDX-License-Identifier: Apache-2.0
-- sonda report: one screen. Each part names the report that says more.
--
-- @help one screen: who ran, what waited, what is missing

-- The number of rows of a table whose ids count from 0.
-- @define ROWS(table)
(SELECT coalesce(max(id) + 1, 0) FROM $table)

-- @define METADATA(name)
(SELECT max(int_value) FROM metadata WHERE name = '$name')

-- @section Trace
-- @key trace
WITH m AS (
  SELECT $METADATA(tracing_started_ns) AS started,
      $METADATA(all_data_source_started_ns) AS all_started, $METADATA(tracing_disabled_ns) AS ended)
SELECT :asked AS asked_ns, (SELECT ended - iif(all_started > started AND all_started < ended,
    all_started, started) FROM m WHERE ended > started) AS recorded_ns, :to - :from AS span_ns,
    $ROWS(sched) AS switches, $ROWS(slice) AS slices, $ROWS(counter) AS counters,
    $ROWS(ftrace_event) AS kernel_events, (SELECT release FROM machine LIMIT 1) AS kernel

-- @section CPUs
-- @key cpus
-- @more timeline
WITH c AS (
  SELECT cpu, sum(iif(utid IN chosen, time, 0)) AS busy, sum(n) AS n
  FROM used
  GROUP BY cpu)
SELECT cpu, 100.0 * busy / (:to - :from) AS busy_pct, n AS switches
FROM c
ORDER BY busy DESC
LIMIT 4

-- @section Programs
-- @key programs
-- @note time their processes spent running, waiting for a CPU, blocked
-- @more sched --by program
WITH $BY_PROGRAM, t AS (
  SELECT who, count(DISTINCT coalesce(upid, -1 - spent.utid)) AS processes,
      sum(iif(state = 'Running', time, 0)) AS run, sum(iif(state IN ('R', 'R+'), time,
      0)) AS waits, sum(iif(state GLOB 'D*', time, 0)) AS blocked
  FROM spent
  JOIN grp USING (utid)
  JOIN thread USING (utid)
  WHERE utid IN chosen
  GROUP BY who)
SELECT $PROGRAM, processes, run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct,
    waits AS runnable_ns, blocked AS blocked_ns
FROM t
WHERE run + waits + blocked > 0
ORDER BY run DESC
LIMIT min(:top, 5)

-- @section Used the CPUs
-- @heading CPU time
-- @key threads
-- @more cpu
WITH t AS (
  SELECT utid, sum(time) AS run
  FROM used
  WHERE utid IN chosen
  GROUP BY utid)
SELECT $WHO, run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct
FROM t $WHO_FROM
ORDER BY run DESC
LIMIT min(:top, 5)

-- @section Functions
-- @key functions
-- @note where the CPUs were when sampled
-- @more functions
$FUNCTIONS
LIMIT min(:top, 3)

-- @section Held up
-- @key held_up
-- @note longest blocked on a disk, a lock, memory or a limit
-- @more waits
SELECT time AS blocked_ns, n AS waits, coalesce(function, '(no stack taken)') AS function, file,
    reason AS waits_for
FROM (SELECT $REASON AS reason, function, file, sum(time) AS time, sum(n) AS n FROM
    code_waits('waits') GROUP BY 1, 2, 3)
WHERE $RANK(reason) = 0
ORDER BY time DESC
LIMIT min(:top, 3)

-- @section Waited
-- @key waited
-- @note for a CPU (runnable), for something else in the kernel (blocked)
-- @more why
WITH t AS (
  SELECT utid, sum(iif(state IN ('R', 'R+'), time, 0)) AS waits, sum(iif(state GLOB 'D*', time,
      0)) AS blocked
  FROM spent
  WHERE utid IN chosen
  GROUP BY utid)
SELECT $WHO, waits AS runnable_ns, blocked AS blocked_ns
FROM t $WHO_FROM
WHERE waits + blocked > 0
ORDER BY waits + blocked DESC
LIMIT min(:top, 5)

-- @section Longest waits for a CPU
-- @key longest_waits
-- @more latency
SELECT wait_ns, at_ts, cpu, thread, tid, behind
FROM ($WORST_WAITS)
LIMIT min(:top, 3)

-- @section Disks
-- @key disks
-- @more io
WITH r AS (
  SELECT who AS dev, *
  FROM requests_by('device'))
SELECT $DEVICE AS device, sum(n) AS requests, sum(iif(op = 0, bytes, 0)) AS read_bytes,
    sum(iif(op = 1, bytes, 0)) AS written_bytes, sum(total) / sum(n) AS mean_ns,
    max(worst) AS max_ns
FROM r
GROUP BY dev
ORDER BY sum(bytes) DESC
LIMIT min(:top, 3)

-- @section Interrupts
-- @key interrupts
-- @more irq
-- @of_machine
SELECT i.name, sum(i.total) AS total_ns, sum(i.n) AS times, max(i.worst) AS max_ns
FROM interrupts i
JOIN cpu_track t ON t.id = i.track_id
WHERE t.type IN ('cpu_irq', 'cpu_softirq')
GROUP BY i.name
ORDER BY total_ns DESC
LIMIT min(:top, 3)

-- @section Pressure
-- @key pressure
-- @note time in which threads waited for CPUs, I/O or memory
-- @more mem
-- @of_machine
SELECT substr(name, 5) AS waits, stalled_ns, share_pct
FROM ($PRESSURE_ROWS(psi.*))
WHERE share_pct >= 0.1
ORDER BY share_pct DESC
LIMIT min(:top, 3)

-- @section Losses and errors
-- @key losses
-- @more loss
-- @of_trace
SELECT iif(name = 'ftrace_cpu_has_data_loss', printf('rings lost events on %d CPU%s', count(*),
    iif(count(*) > 1, 's', '')), description) AS description, severity,
    iif(name = 'ftrace_cpu_has_data_loss', :lost, sum(value)) AS value
FROM stats
WHERE severity != 'info' AND value > 0 AND NOT (name = 'mismatched_sched_switch_tids' AND (SELECT
    limited FROM asked))
GROUP BY name
ORDER BY severity, value DESC
LIMIT min(:top, 5)
