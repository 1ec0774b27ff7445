-- SPDX-License-Identifier: Apache-2.0
-- sonda report wakeups: which threads wake which, how often, and how long the woken thread waits
-- for a CPU then.
--
-- @help who wakes whom: how often, and the waits for a CPU that follow
-- @records sched

-- The columns of a pair of waker and woken: a row p of wakes_by.
-- @define PAIR_COLUMNS
, n AS wakeups, 1e9 * n / (:to - :from) AS per_s, total / n AS wait_mean_ns, p50 AS wait_p50_ns,
    p99 AS wait_p99_ns, worst AS wait_max_ns
FROM

-- @define PAIR_ORDER
ORDER BY n DESC, p.waker, p.woken
LIMIT :top + :more

-- @define PROCESS_OF(key)
iif($key IS NULL, '(interrupt)', coalesce((SELECT coalesce(name,
    '') || ' ' || pid FROM process WHERE upid = $key), (SELECT coalesce(name,
    '') || ' ' || tid FROM thread WHERE utid = -1 - $key)))

-- @section Who wakes whom
-- @key threads
-- @by thread
-- @more why
SELECT coalesce((SELECT $THREAD(f) FROM thread f WHERE f.utid = p.waker), '(interrupt)') AS waker,
    (SELECT $THREAD(t) FROM thread t WHERE t.utid = p.woken) AS wakes $PAIR_COLUMNS
    wakes_by('thread') p $PAIR_ORDER

-- @section Which process wakes which
-- @key processes
-- @by process
-- @on_request
SELECT $PROCESS_OF(p.waker) AS waker, $PROCESS_OF(p.woken) AS wakes $PAIR_COLUMNS
    wakes_by('process') p $PAIR_ORDER

-- @section Which program wakes which
-- @key programs
-- @by program
-- @on_request
SELECT coalesce(p.waker, '(interrupt)') AS waker,
    p.woken AS wakes $PAIR_COLUMNS wakes_by('program') p $PAIR_ORDER

-- @section Which interrupts wake threads
-- @key interrupts
-- @by interrupt
-- @more irq
SELECT name AS interrupt, sum(n) AS wakeups, count(*) AS threads
FROM interrupt_wakes
WHERE name IS NOT NULL
GROUP BY 1
ORDER BY 2 DESC
LIMIT :top + :more
