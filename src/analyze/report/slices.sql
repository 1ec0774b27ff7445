-- SPDX-License-Identifier: Apache-2.0
-- sonda report slices: the slices of the trace by name.
--
-- @help slices by name: times, total, self time, p50, p99, the longest
-- @records syscalls

-- @define GROUP_COLUMNS
, n AS times, total AS total_ns, self AS self_ns, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns,
    worst_ts AS max_at_ts
FROM

-- @section Slices
-- @key slices
-- @by name
SELECT name $GROUP_COLUMNS slices_by('name')
ORDER BY total DESC, name
LIMIT :top + :more

-- @section Slices, by track
-- @key slices_by_track
-- @by track
-- @on_request
SELECT g.name, coalesce(t.name, (SELECT $THREAD(h) FROM thread h WHERE h.utid = t.utid),
    t.type) AS track $GROUP_COLUMNS slices_by('track') g
JOIN __intrinsic_track t ON t.id = g.track_id
ORDER BY total DESC, t.id, g.name
LIMIT :top + :more

-- @section Slices, by thread
-- @key slices_by_thread
-- @by thread
-- @on_request
SELECT $WHO $GROUP_COLUMNS slices_by('thread')
JOIN thread ON utid = track_id
LEFT JOIN process USING (upid)
ORDER BY total DESC, utid
LIMIT :top + :more

-- @section Slices, by process
-- @key slices_by_process
-- @by process
-- @on_request
SELECT $PROCESS $GROUP_COLUMNS (SELECT *, track_id AS who FROM slices_by('process')) $PROCESS_FROM
ORDER BY total DESC, who
LIMIT :top + :more

-- @section Slices that did not end
-- @heading Unfinished slices
-- @key unfinished_slices
SELECT name, count(*) AS times, min(ts) AS first_ts
FROM slice
WHERE dur < 0 AND ts >= :from AND ts < :to AND NOT (SELECT some FROM asked)
GROUP BY name
ORDER BY 2 DESC
LIMIT :top + :more
