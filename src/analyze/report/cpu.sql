-- SPDX-License-Identifier: Apache-2.0
-- sonda report cpu: the threads that used the CPUs.
--
-- @help who used the CPUs: time of each CPU, thread, process or program
-- @records sched

-- u(utid, run, longest, n, cpus): of each thread.
-- @define USED
u AS (
  SELECT utid, sum(time) AS run, max(longest) AS longest, sum(n) AS n, count(*) AS cpus
  FROM used
  WHERE utid IN chosen
  GROUP BY utid)

-- @define USED_BY(group, columns, from)
WITH $USED, $group, t AS (
  SELECT who, sum(run) AS run, max(longest) AS longest, sum(n) AS n, count(*) AS threads
  FROM u
  JOIN grp USING (utid)
  GROUP BY who)
SELECT $columns, run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct, n AS runs,
    longest AS longest_ns, threads
FROM t $from
ORDER BY run DESC
LIMIT :top + :more

-- @section CPUs
-- @key cpus
-- @by cpu
-- @more timeline
WITH c AS (
  SELECT cpu, sum(iif(utid IN chosen, time, 0)) AS busy,
      sum(iif(utid IN (SELECT utid FROM thread WHERE is_idle), time, 0)) AS idle,
      sum(time) AS seen, sum(n) AS n
  FROM used
  GROUP BY cpu)
SELECT cpu, busy AS busy_ns, 100.0 * busy / (:to - :from) AS busy_pct,
    seen - busy - idle AS others_ns, idle AS idle_ns, :to - :from - seen AS unknown_ns,
    n AS switches
FROM c
ORDER BY cpu

-- @section Threads
-- @key threads
-- @by thread
-- @more sched
WITH $USED
SELECT $WHO, run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct, n AS runs,
    longest AS longest_ns, cpus
FROM u $WHO_FROM
ORDER BY run DESC
LIMIT :top + :more

-- @section Processes
-- @key processes
-- @by process
-- @more sched --by process
-- @on_request
$USED_BY($BY_PROCESS, $PROCESS, $PROCESS_FROM)

-- @section By
-- @key by
-- @each container unit pod cgroup
-- @more sched
-- @on_request
WITH t AS (
  SELECT subject AS who, sum(time) AS run, max(longest) AS longest, sum(n) AS n
  FROM used('$subject')
  GROUP BY 1)
SELECT $SUBJECT, run AS run_ns, 100.0 * run / (:to - :from) AS cpu_pct, n AS runs,
    longest AS longest_ns
FROM t $SUBJECT_FROM
ORDER BY run DESC
LIMIT :top + :more

-- @section Programs
-- @key programs
-- @by program
-- @on_request
$USED_BY($BY_PROGRAM, $PROGRAM, )
