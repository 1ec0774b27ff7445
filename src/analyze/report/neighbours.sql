-- SPDX-License-Identifier: Apache-2.0
-- sonda report neighbours: why the threads of a container, a unit, a pod or a control group waited for
-- a CPU, and whose threads had it.
--
-- @help why a container or unit waited for a CPU: neighbours, its own threads or quota
-- @records sched containers waits
-- @of_subject

-- @define CAUSE
CASE cause WHEN 0 THEN 'neighbours' WHEN 1 THEN 'own threads' WHEN 2 THEN 'kernel threads'
    WHEN 3 THEN 'idle CPU wakes up' WHEN 4 THEN 'own CPU quota' ELSE 'not recorded' END AS cause

-- @section Waits for a CPU, by cause
-- @key waits_by_cause
-- @by cause
-- @note what had the CPU for the largest part of each wait; total: sum of the parts of all waits
-- @more cpu
WITH c AS MATERIALIZED (
  SELECT *
  FROM neighbour_waits('container'))
SELECT $CAUSE, total AS total_ns, 100.0 * total / (SELECT max(1, sum(total)) FROM c) AS share_pct, n AS waits,
    p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns, worst_ts AS max_at_ts
FROM c
ORDER BY total DESC

-- @section Waits for a CPU, counted in the kernel
-- @key counted_waits_by_cause
-- @by cause
-- @note what had the CPU when each wait ended
WITH c AS MATERIALIZED (
  SELECT who AS cause, n, total, p50, p99, worst
  FROM cgroup_waits_by('cause'))
SELECT $CAUSE, total AS total_ns, 100.0 * total / (SELECT max(1, sum(total)) FROM c) AS share_pct,
    n AS waits, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns
FROM c
ORDER BY total DESC

-- @section Neighbours
-- @key neighbours
-- @by container
-- @note who had the CPU during these waits, excluding waits for its own quota
WITH t AS (
  SELECT who, sum(time) AS time, sum(n) AS n, max(longest) AS longest
  FROM neighbours('container')
  GROUP BY who)
SELECT coalesce(subjects.name, '(unknown)') AS container, time AS held_ns, n AS runs,
    longest AS longest_ns
FROM t
LEFT JOIN subjects('container') ON subjects.who = t.who
ORDER BY time DESC
LIMIT :top + :more

-- @section Threads of neighbours
-- @key neighbour_threads
-- @by thread
WITH t AS (
  SELECT utid, time, n, longest
  FROM neighbours('container'))
SELECT $WHO, time AS held_ns, n AS runs, longest AS longest_ns
FROM t $WHO_FROM
ORDER BY time DESC
LIMIT :top + :more
