-- SPDX-License-Identifier: Apache-2.0
-- sonda report syscalls: the columns of strace -c, and the slowest calls.
--
-- @help system calls: times, errors, and the slowest
-- @records syscalls

-- The columns of strace -c; by: what calls are counted by.
-- @define CALLS_BY(by, columns, from)
SELECT 100.0 * total / (SELECT sum(total) FROM calls_by('$by')) AS time_pct, total AS total_ns,
    total / n AS mean_ns, worst AS max_ns, n AS calls, errors, $columns
FROM calls_by('$by') $from
ORDER BY total DESC, who
LIMIT :top + :more

-- @section System calls
-- @by name
$CALLS_BY(name, substr(who, 5) AS syscall, )

-- @section System calls, by thread
-- @by thread
-- @on_request
$CALLS_BY(thread, $WHO, JOIN thread ON utid = who LEFT JOIN process USING (upid))

-- @section System calls, by process
-- @by process
-- @on_request
$CALLS_BY(process, $PROCESS, $PROCESS_FROM)

-- @section Slowest calls
SELECT s.dur AS took_ns, s.ts AS at_ts, substr(s.name, 5) AS syscall, result AS ret, $WHO
FROM longest_calls('', :top) c
CROSS JOIN slice s ON s.id = c.id
JOIN thread_track t ON t.id = s.track_id
JOIN thread ON thread.utid = t.utid
LEFT JOIN process USING (upid)
ORDER BY s.dur DESC, s.id
