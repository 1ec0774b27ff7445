-- SPDX-License-Identifier: Apache-2.0
-- sonda diff: metrics. Each section makes the rows of one window of one trace, as diff_rows.h describes them:
--
--	program, thread, what, amount in ns (NULL: it has only a number), number, p50, p99, bytes
--
-- The sections of a file go from the whole to its parts. A change that a part explains is not a finding of the whole.
-- Texts of src/analyze/report/reports.sql can be used.
--
-- @help time on CPUs
-- @records sched

-- @section CPU time of
-- @each container unit
SELECT NULL, NULL, '$subject ' || subjects.name, sum(time), sum(n), NULL, NULL, NULL
FROM used('$subject') t
JOIN subjects('$subject') ON subjects.who = t.subject AND subjects.name != '/'
GROUP BY subjects.name

-- These rows show a program that lost a CPU, or moved to another one.
-- @section CPU time of programs, by CPU
-- @by cpu
WITH $BY_PROGRAM
SELECT who, NULL, 'on CPU ' || cpu, sum(time), sum(n), NULL, NULL, NULL
FROM used
JOIN grp USING (utid)
WHERE utid IN chosen
GROUP BY who, cpu

-- @section CPU time of programs
-- @by program
WITH $BY_PROGRAM
SELECT who, NULL, NULL, sum(time), sum(n), NULL, NULL, NULL
FROM used
JOIN grp USING (utid)
WHERE utid IN chosen
GROUP BY who

-- @section CPU time of threads
-- @by thread
WITH $BY_PROGRAM
SELECT who, thread.name, NULL, sum(time), sum(n), NULL, NULL, NULL
FROM used
JOIN grp USING (utid)
JOIN thread USING (utid)
WHERE utid IN chosen
GROUP BY who, thread.name

-- @section CPU time of functions, with those that they call
-- @by callers
SELECT who, NULL, function || ' (' || file || ') with callees', total_n * :period, total_n, NULL, NULL, NULL
FROM functions_by('program')

-- @section CPU time in functions themselves
-- @by function
SELECT who, NULL, function || ' (' || file || ')', n * :period, n, NULL, NULL, NULL
FROM functions_by('program')
WHERE n > 0
