-- SPDX-License-Identifier: Apache-2.0
-- sonda report timeline: a line of blocks for each CPU and thread. The window is divided into
-- :width cells; cells_by has how long a CPU or thread ran, waited and was blocked in each.
--
-- @help when each CPU and thread ran, as rows of block characters
-- @records sched

-- line(key, line, busy, ran): a character for each cell: a block for the eighths in which the key
-- ran, or 'w' or 'D' if it waited for a CPU or was blocked for longer than it ran.
-- @define LINES(cells)
line AS (
  SELECT key, group_concat(CASE WHEN w > run AND w >= d THEN 'w' WHEN d > run THEN 'D' WHEN run <=
      0 THEN ' ' ELSE substr(:blocks, max(1, min(8, CAST(round(8.0 * run / size) AS INTEGER))),
      1) END, '') AS line, max(busy) AS busy, max(ran) AS ran
  FROM (SELECT * FROM $cells ORDER BY key, n)
  GROUP BY key)

-- The lines of groups of threads.
-- @define LINES_OF(by, columns, from)
WITH $LINES(cells_by('$by', :top + :more, :width))
SELECT line AS time_bar, ran AS run_ns, $columns
FROM (SELECT line, ran, busy, key AS who FROM line) $from
ORDER BY busy DESC, who

-- @section Window
-- @key window
SELECT :from AS from_ts, :to AS to_ts, (:to - :from) / :width AS a_block_ns,
    'one block: how much of its time the CPU or thread ran; w: waited for a CPU, D: blocked' AS
    meaning

-- @section CPUs
-- @key cpus
-- @by cpu
-- @more cpu
WITH $LINES(cells_by('cpu', 0, :width))
SELECT line AS time_bar, 'CPU ' || (key % 4096) AS cpu, busy AS busy_ns,
    100.0 * busy / (:to - :from) AS busy_pct
FROM line
ORDER BY key

-- @section Threads
-- @key threads
-- @by thread
-- @more sched
WITH $LINES(cells_by('thread', :top + :more, :width))
SELECT line AS time_bar, ran AS run_ns, $THREAD(t) AS thread
FROM line
JOIN thread t ON t.utid = key
ORDER BY busy DESC, key

-- @section Processes
-- @key processes
-- @by process
-- @more sched --by process
-- @on_request
$LINES_OF(process, $PROCESS, $PROCESS_FROM)

-- @section Programs
-- @key programs
-- @by program
-- @more sched --by program
-- @on_request
$LINES_OF(program, $PROGRAM, )
