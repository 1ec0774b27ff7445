-- SPDX-License-Identifier: Apache-2.0
-- @help time threads waited for a CPU
-- @records sched

-- @section Waits for a CPU, of
-- @each container unit
SELECT NULL, NULL, '$subject ' || subjects.name, total, n, p50, p99, NULL
FROM waits_by('$subject') t
JOIN subjects('$subject') ON subjects.who = t.who AND subjects.name != '/'

-- @section Waits for a CPU, by program
-- @by program
SELECT who, NULL, NULL, total, n, p50, p99, NULL
FROM waits_by('program')

-- @section Waits for a CPU, by thread
-- @by thread
WITH $BY_PROGRAM
SELECT g.who, thread.name, NULL, total, n, p50, p99, NULL
FROM waits_by('thread') t
JOIN grp g ON g.utid = t.who
JOIN thread ON thread.utid = t.who
