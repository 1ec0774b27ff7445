-- SPDX-License-Identifier: Apache-2.0
-- sonda report sched: how each thread spent its time, and in which kernel functions it was
-- blocked.
--
-- @help how threads spent their time: running, runnable, blocked, asleep
-- @records sched

-- @define SPENT_SUMS
sum(iif(state = 'Running', time, 0)) AS run, sum(iif(state IN ('R', 'R+'), time, 0)) AS waits,
    sum(iif(state GLOB 'D*', time, 0)) AS blocked, sum(iif(state = 'S' OR state = 'I', time,
    0)) AS sleep, sum(iif(state = 'Running', n, 0)) AS n, sum(iif(state IN ('R', 'R+'),
    spent.n - woken, 0)) AS preempted

-- u(utid, run, waits, blocked, sleep, n, preempted): of each thread.
-- @define SPENT
u AS (
  SELECT utid, $SPENT_SUMS
  FROM spent
  WHERE utid IN chosen
  GROUP BY utid)

-- @define SPENT_COLUMNS
, run AS run_ns, waits AS runnable_ns, blocked AS blocked_ns, sleep AS sleep_ns, n AS runs,
    preempted

-- @define SPENT_BY(group, columns, from)
WITH $SPENT, $group, t AS (
  SELECT who, sum(run) AS run, sum(waits) AS waits, sum(blocked) AS blocked, sum(sleep) AS sleep,
      sum(n) AS n, sum(preempted) AS preempted
  FROM u
  JOIN grp USING (utid)
  GROUP BY who)
SELECT $columns $SPENT_COLUMNS
FROM t $from
ORDER BY run + waits + blocked DESC
LIMIT :top + :more

-- @section Threads
-- @key threads
-- @by thread
-- @more latency
WITH $SPENT
SELECT $WHO $SPENT_COLUMNS
FROM u $WHO_FROM
ORDER BY run + waits + blocked DESC
LIMIT :top + :more

-- @section Processes
-- @key processes
-- @by process
-- @more latency --by process
-- @on_request
$SPENT_BY($BY_PROCESS, $PROCESS, $PROCESS_FROM)

-- @section By
-- @key by
-- @each container unit pod cgroup
-- @more latency
-- @on_request
WITH t AS (
  SELECT subject AS who, $SPENT_SUMS
  FROM spent('$subject') spent
  GROUP BY 1)
SELECT $SUBJECT $SPENT_COLUMNS
FROM t $SUBJECT_FROM
ORDER BY run + waits + blocked DESC
LIMIT :top + :more

-- @section Programs
-- @key programs
-- @by program
-- @on_request
$SPENT_BY($BY_PROGRAM, $PROGRAM, )

-- @section Blocked in
-- @key blocked_in
-- @by function
SELECT coalesce(function, '(not recorded)') AS function, $WHO, time AS blocked_ns, n AS times,
    longest AS longest_ns, iif(io, 'yes', '') AS io
FROM blocked $WHO_FROM
ORDER BY time DESC, utid, function
LIMIT :top + :more
