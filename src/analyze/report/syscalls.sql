-- SPDX-License-Identifier: Apache-2.0
-- sonda report syscalls: the columns of strace -c, and the slowest calls.
--
-- @help system calls: times, errors, and the slowest
-- @records syscalls

-- The columns of strace -c; by: what calls are counted by.
-- @define CALLS_BY(by, columns, from)
SELECT 100.0 * total / (SELECT sum(total) FROM calls_by('$by')) AS time_pct, total AS total_ns,
    total / n AS mean_ns, worst AS max_ns, n AS calls, errors, $columns
FROM calls_by('$by') t $from
ORDER BY total DESC, t.who
LIMIT :top + :more

-- @section System calls
-- @key calls
-- @by name
$CALLS_BY(name, substr(who, 5) AS syscall, )

-- @section System calls, by thread
-- @key calls_by_thread
-- @by thread
-- @on_request
$CALLS_BY(thread, $WHO, JOIN thread ON utid = who LEFT JOIN process USING (upid))

-- @section System calls, by process
-- @key calls_by_process
-- @by process
-- @on_request
$CALLS_BY(process, $PROCESS, $PROCESS_FROM)

-- @section System calls, by path
-- @key calls_by_path
-- @records strace
-- @by path
-- @note the file that the call names or that its descriptor refers to
-- @on_request
SELECT 100.0 * total / (SELECT sum(total) FROM call_paths('')) AS time_pct, total AS total_ns,
    total / n AS mean_ns, worst AS max_ns, n AS calls, errors, path
FROM call_paths('')
ORDER BY total DESC, path
LIMIT :top + :more

-- @section System calls, by
-- @key calls_by
-- @each container unit pod cgroup
-- @on_request
$CALLS_BY($subject, $SUBJECT, $SUBJECT_FROM)

-- @section System calls, by program
-- @key calls_by_program
-- @by program
-- @on_request
WITH c AS MATERIALIZED (
  SELECT who, sum(n) AS n, sum(total) AS total, max(worst) AS worst, sum(errors) AS errors
  FROM calls_by('program')
  GROUP BY who)
SELECT 100.0 * total / (SELECT sum(total) FROM c) AS time_pct, total AS total_ns, total / n AS
    mean_ns, worst AS max_ns, n AS calls, errors, who AS program
FROM c
ORDER BY total DESC, who
LIMIT :top + :more

-- @section Slowest calls
-- @key slowest_calls
-- @by slowest
SELECT s.dur AS took_ns, s.ts AS at_ts, substr(s.name, 5) AS syscall, c.result AS ret, c.call, $WHO
FROM longest_calls('', :top) c
CROSS JOIN slice s ON s.id = c.id
JOIN thread_track t ON t.id = s.track_id
JOIN thread ON thread.utid = t.utid
LEFT JOIN process USING (upid)
ORDER BY s.dur DESC, s.id

-- @section Left out
-- @key left_out
-- @note calls and strings that linux.syscalls lost; calls with an address in place of a string
WITH lost AS (
  SELECT sum(iif(name = 'sonda_syscalls_missing', value, 0)) AS calls,
      sum(iif(name = 'sonda_syscalls_texts_lost', value, 0)) AS strings,
      sum(iif(name = 'sonda_syscalls_texts_absent', value, 0)) AS calls_without_string
  FROM stats)
SELECT calls, strings, calls_without_string
FROM lost
WHERE calls + strings + calls_without_string > 0

-- @section Lines
-- @key lines
-- @records strace
-- @by line
-- @on_request
SELECT c.ts AS at_ts, c.dur AS took_ns, thread.tid, c.call
FROM call_lines('') c
JOIN thread ON thread.utid = c.utid
