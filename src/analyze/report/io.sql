-- SPDX-License-Identifier: Apache-2.0
-- sonda report io: requests to block devices.
--
-- @help disk requests by device and process: bytes, latency; write-back
-- @records io

-- @define IO_COLUMNS
, $OP, n AS requests, bytes AS size_bytes, CAST(1e9 * bytes / (:to - :from) AS INTEGER) AS
    per_s_bytes, queued / n AS queued_ns, total / n AS mean_ns, p50 AS p50_ns, p99 AS p99_ns,
    worst AS max_ns
FROM

-- @define IO_ORDER
ORDER BY bytes DESC, n DESC
LIMIT :top + :more

-- The sum of the counters diskstat.[DEVICE].NAME whose NAME is this one.
-- @define DISKSTAT(name)
sum(iif(t.name GLOB '*.$name', c.value, 0))

-- @section Devices
-- @key devices
-- @by device
SELECT $DEVICE AS device $IO_COLUMNS (SELECT who AS dev, * FROM requests_by('device')) $IO_ORDER

-- @section Requests without an end
-- @heading Unfinished requests
-- @key unfinished_requests
-- @note not counted in the other tables
SELECT $DEVICE AS device, $OP, n AS requests, bytes AS size_bytes
FROM (SELECT dev, op, count(*) AS n, sum(bytes) AS bytes FROM unfinished_requests GROUP BY 1, 2)
ORDER BY n DESC, bytes DESC
LIMIT :top + :more

-- @section Processes
-- @key processes
-- @by process
SELECT $PROCESS $IO_COLUMNS requests_by('process') $PROCESS_FROM $IO_ORDER

-- @section By
-- @key by
-- @each container unit pod cgroup program
-- @on_request
SELECT $SUBJECT $IO_COLUMNS requests_by('$subject') t $SUBJECT_FROM $IO_ORDER

-- @section Threads
-- @key threads
-- @by thread
-- @on_request
SELECT $WHO $IO_COLUMNS requests_by('thread')
JOIN thread ON utid = who
LEFT JOIN process USING (upid) $IO_ORDER

-- @section Slowest requests
-- @key slowest_requests
SELECT dur AS took_ns, queued AS queued_ns, ts AS at_ts, $DEVICE AS device, $OP,
    bytes AS size_bytes, sector, $WHO
FROM longest_requests('', :top + :more) $WHO_FROM
ORDER BY dur DESC

-- @section All requests
-- @key requests_by_length
WITH h AS (
  SELECT who AS length, n
  FROM requests_by('length'))
$HISTOGRAM(requests)

-- The file of a row of w. An inode whose number is that of the device in the kernel is the device's
-- own: it stands for the metadata of its file system.
-- @define WRITEBACK_FILE
CASE WHEN who IS NULL THEN files || ' files' WHEN w.device = (w.inode >> 20) || ':' || (w.inode & 1048575) THEN '(metadata)' ELSE
    coalesce((SELECT path FROM paths p WHERE p.ino = w.inode AND ((p.dev >> 8) & 4095) || ':' =
    substr(w.device, 1, instr(w.device, ':')) ORDER BY p.ts DESC LIMIT 1), 'inode ' || w.inode) END

-- @section Write-back, charged to the process that dirtied the pages
-- @key written_back
-- @records writeback
-- @by writeback
-- @note dirtied folios; written pages, and how many of these the process wrote itself
WITH $PATHS, w AS MATERIALIZED (
  SELECT who, iif(who IS NULL, NULL, inode) AS inode, device, sum(dirtied) AS dirtied,
      sum(written) AS written, sum(own) AS own, count(*) AS files
  FROM writeback_by('process')
  GROUP BY 1, 2, 3)
SELECT iif(who IS NULL, '(dirtied before)', coalesce(process.name, thread.name, '')) AS process,
    coalesce(process.pid, thread.tid) AS pid, dirtied, written, own, $WRITEBACK_FILE AS file, w.device
FROM w $PROCESS_FROM
ORDER BY written DESC, dirtied DESC
LIMIT :top + :more

-- @section Write-back: written pages, by
-- @key written_back_by
-- @records writeback
-- @each container unit pod cgroup program
-- @on_request
WITH t AS (
  SELECT who, sum(dirtied) AS dirtied, sum(written) AS written, sum(own) AS own,
      count(DISTINCT inode) AS files
  FROM writeback_by('$subject')
  GROUP BY who)
SELECT $SUBJECT, dirtied, written, own, files
FROM t $SUBJECT_FROM
ORDER BY written DESC, dirtied DESC
LIMIT :top + :more

-- @section Write-back: written pages, by the control group that the kernel charges
-- @key written_back_charged
-- @records writeback
-- @by charged
-- @on_request
-- @of_machine
WITH w AS (
  SELECT $ARG(cgroup_ino) AS cgroup_ino, coalesce(e.total, 0) AS pages
  FROM $EVENTS(writeback))
SELECT coalesce((SELECT path FROM cgroup WHERE cgroup.inode = w.cgroup_ino), iif(cgroup_ino = 1,
    '/', 'id ' || cgroup_ino)) AS cgroup, sum(pages) AS written
FROM w
GROUP BY cgroup_ino
HAVING sum(pages) > 0
ORDER BY written DESC
LIMIT :top + :more

-- @section Disks, by the kernel's counters
-- @heading Disk counters
-- @key disk_counters
-- @by disk
-- @more counters
-- @of_machine
WITH d AS (
  SELECT substr(t.name, 11, instr(t.name, '].') - 11) AS disk, $DISKSTAT(read_amount) AS r,
      $DISKSTAT(write_amount) AS w, $DISKSTAT(discard_amount) AS d, $DISKSTAT(flush_amount) AS f
  FROM __intrinsic_track t
  CROSS JOIN counter c ON c.track_id = t.id
  WHERE t.type = 'diskstat' AND c.ts >= :from AND c.ts <= :to
  GROUP BY 1)
SELECT disk, CAST(r * 1048576 AS INTEGER) AS read_bytes,
    CAST(w * 1048576 AS INTEGER) AS written_bytes, CAST(d * 1048576 AS INTEGER) AS discarded_bytes,
    CAST(f AS INTEGER) AS flushes
FROM d
WHERE r + w + d + f > 0
ORDER BY r + w DESC
LIMIT :top + :more

-- @section Stalls
-- @key stalls
-- @note time in which threads waited for I/O
-- @of_machine
$PRESSURE(psi.io.*)
