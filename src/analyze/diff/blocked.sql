-- SPDX-License-Identifier: Apache-2.0
-- @help time in uninterruptible sleep, if waits are not recorded
-- @records sched

-- The metric waits says the same with reasons.
-- @define NO_WAITS
NOT EXISTS (SELECT 1 FROM __intrinsic_track WHERE name = 'waits')

-- @section Uninterruptible sleep, by program
-- @by program
WITH $BY_PROGRAM
SELECT who, NULL, NULL, sum(time), sum(n), NULL, NULL, NULL
FROM spent
JOIN grp USING (utid)
WHERE state GLOB 'D*' AND utid IN chosen AND $NO_WAITS
GROUP BY who

-- @section Uninterruptible sleep, by kernel function
-- @by function
WITH $BY_PROGRAM
SELECT who, NULL, function, sum(time), sum(n), NULL, NULL, NULL
FROM blocked
JOIN grp USING (utid)
WHERE function IS NOT NULL AND $NO_WAITS
GROUP BY who, function
