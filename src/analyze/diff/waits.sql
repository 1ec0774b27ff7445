-- SPDX-License-Identifier: Apache-2.0
-- @help time threads were blocked on disks, locks, memory, limits or other processes
-- @records waits

-- Waits of threads that have nothing to do are left out.
-- @define WAITED
w AS (
  SELECT who, $REASON AS reason, function, file, time, n
  FROM code_waits(:waits)
  JOIN grp USING (utid)
  WHERE $RANK($REASON) < 2)

-- @section Waits, by reason
-- @by reason
WITH $BY_PROGRAM, $WAITED
SELECT who, NULL, reason, sum(time), sum(n), NULL, NULL, NULL
FROM w
GROUP BY who, reason

-- @section Waits, by function
-- @by function
WITH $BY_PROGRAM, $WAITED
SELECT who, NULL, reason || ' in ' || function || ' (' || file || ')', sum(time), sum(n), NULL, NULL, NULL
FROM w
WHERE function IS NOT NULL
GROUP BY who, reason, function, file
