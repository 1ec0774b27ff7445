-- SPDX-License-Identifier: Apache-2.0
-- sonda report functions: the functions that samples of call stacks found running.
--
-- @help functions that ran, from call-stack samples
-- @records stacks

-- @section Functions
-- @key functions
-- @by function
-- @note self: samples in the function itself; total: including functions it called
$FUNCTIONS
LIMIT :top + :more

-- @section Samples, by process
-- @key samples_by_process
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
-- @key samples_by_thread
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

-- @section Samples, by file
-- @key samples_by_file
-- @by file
-- @on_request
-- @note self: samples in the file's own functions
WITH f AS MATERIALIZED (
  SELECT file, sum(n) AS n, count(*) AS functions
  FROM functions_by('cpu')
  GROUP BY file)
SELECT n AS self, 100.0 * n / (SELECT sum(n) FROM f) AS self_pct, file, functions
FROM f
WHERE n > 0
ORDER BY n DESC, file
LIMIT :top + :more

-- @section Calls
-- @key call_tree
-- @by tree
-- @on_request
-- @top 40
-- @note from the outermost function down; --top N also shows smaller ones
$CALL_TREE('cpu down', total_n AS samples)

-- @section Callers
-- @key caller_tree
-- @by leaf
-- @on_request
-- @top 40
-- @note from the function that ran up to its callers; --top N also shows smaller ones
$CALL_TREE('cpu up', total_n AS samples)

-- @section Callers of a function
-- @key callers_of_function
-- @by callers
-- @on_request
-- @top 40
$CALL_TREE('cpu callers ' || :function, total_n AS samples)

-- @section Calls of a function
-- @key calls_of_function
-- @by callees
-- @on_request
-- @top 40
$CALL_TREE('cpu callees ' || :function, total_n AS samples)
