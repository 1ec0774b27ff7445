-- SPDX-License-Identifier: Apache-2.0
-- @help page faults
-- @records faults

-- @section Page faults
-- @by program
WITH $BY_PROGRAM
SELECT who, NULL, 'page faults', NULL, count(*), NULL, NULL, NULL
FROM ftrace_event
JOIN grp USING (utid)
WHERE name IN ('page_fault_user', 'page_fault_kernel') AND ts >= :from AND ts < :to AND utid IN chosen
GROUP BY who

-- @section Page faults, counted in the kernel
-- @by program
WITH $BY_PROGRAM, g AS ($GROWN(t.name IN ('page faults', 'major page faults')))
SELECT who, NULL, g.name || ' (eBPF)', NULL, sum(grown), NULL, NULL, NULL
FROM g
JOIN thread USING (upid)
JOIN grp USING (utid)
WHERE thread.is_main_thread
GROUP BY who, g.name
