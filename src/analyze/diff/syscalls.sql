-- SPDX-License-Identifier: Apache-2.0
-- @help time in system calls
-- @records syscalls

-- The time of all calls of a program says little, since it includes sleeps: only their number is
-- compared.
-- @section System calls, by program
-- @by program
SELECT who, NULL, NULL, NULL, sum(n), NULL, NULL, NULL
FROM calls_by('program')
GROUP BY who

-- @section System calls
-- @by call
SELECT who, NULL, substr(name, 5), total, n, p50, p99, NULL
FROM calls_by('program')
