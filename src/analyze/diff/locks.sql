-- SPDX-License-Identifier: Apache-2.0
-- @help waits for futexes and kernel locks, counted in the kernel
-- @records lock-ebpf futex

-- A counter "X wait time" has a counter of their number beside it, "X waits".
-- @section Waits for locks
-- @by program
WITH $BY_PROGRAM, g AS ($GROWN(t.name GLOB '* wait time' OR t.name GLOB '* waits'))
SELECT who, NULL, replace(replace(g.name, ' wait time', ''), ' waits', '') AS kind, sum(iif(g.name GLOB '* wait time', grown,
    0)), sum(iif(g.name GLOB '* waits', grown, 0)), NULL, NULL, NULL
FROM g
LEFT JOIN thread ON thread.upid = g.upid AND thread.is_main_thread
LEFT JOIN grp USING (utid)
GROUP BY who, kind
HAVING sum(grown) > 0
