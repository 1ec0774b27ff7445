-- SPDX-License-Identifier: Apache-2.0
-- @help time in uninterruptible sleep
-- @records sched

-- @section Uninterruptible sleep, by program
-- @by program
WITH $BY_PROGRAM
SELECT who, NULL, NULL, sum(time), sum(n), NULL, NULL, NULL
FROM spent
JOIN grp USING (utid)
WHERE state GLOB 'D*' AND utid IN chosen
GROUP BY who

-- @section Uninterruptible sleep, by kernel function
-- @by function
WITH $BY_PROGRAM
SELECT who, NULL, function, sum(time), sum(n), NULL, NULL, NULL
FROM blocked
JOIN grp USING (utid)
WHERE function IS NOT NULL
GROUP BY who, function
