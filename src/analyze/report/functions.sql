-- SPDX-License-Identifier: Apache-2.0
-- sonda report functions: the functions that samples of call stacks found running.
--
-- @help functions that ran, from samples of call stacks
-- @records stacks

-- @section Functions
-- @by function
-- @note self: samples in the function itself; total: also in those that it called
$FUNCTIONS
LIMIT :top + :more

-- @section Samples, by process
-- @by process
-- @on_request
WITH $BY_PROCESS, $SAMPLES, t AS (
  SELECT who, count(*) AS n, sum(cpu_mode = 'kernel') AS kernel
  FROM samples
  JOIN grp USING (utid)
  GROUP BY who)
SELECT $PROCESS, n AS samples, 100.0 * n / (SELECT count(*) FROM samples) AS samples_pct,
    100.0 * kernel / n AS in_kernel_pct
FROM t $PROCESS_FROM
ORDER BY n DESC
LIMIT :top + :more

-- @section Samples, by thread
-- @by thread
-- @on_request
WITH $SAMPLES, t AS (
  SELECT utid, count(*) AS n, sum(cpu_mode = 'kernel') AS kernel
  FROM samples
  GROUP BY utid)
SELECT $WHO, n AS samples, 100.0 * n / (SELECT count(*) FROM samples) AS samples_pct,
    100.0 * kernel / n AS in_kernel_pct
FROM t $WHO_FROM
ORDER BY n DESC
LIMIT :top + :more
