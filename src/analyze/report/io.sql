-- SPDX-License-Identifier: Apache-2.0
-- sonda report io: requests to block devices.
--
-- @help requests to disks: by device and process, bytes, latencies
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
-- @by device
SELECT $DEVICE AS device $IO_COLUMNS (SELECT who AS dev, * FROM requests_by('device')) $IO_ORDER

-- @section Requests without an end
-- @note not counted in the other tables
SELECT $DEVICE AS device, $OP, n AS requests, bytes AS size_bytes
FROM (SELECT dev, op, count(*) AS n, sum(bytes) AS bytes FROM unfinished_requests GROUP BY 1, 2)
ORDER BY n DESC, bytes DESC
LIMIT :top + :more

-- @section Processes
-- @by process
SELECT $PROCESS $IO_COLUMNS requests_by('process') $PROCESS_FROM $IO_ORDER

-- @section By
-- @each container unit pod cgroup program
-- @on_request
SELECT $SUBJECT $IO_COLUMNS requests_by('$subject') t $SUBJECT_FROM $IO_ORDER

-- @section Threads
-- @by thread
-- @on_request
SELECT $WHO $IO_COLUMNS requests_by('thread')
JOIN thread ON utid = who
LEFT JOIN process USING (upid) $IO_ORDER

-- @section Slowest requests
SELECT dur AS took_ns, queued AS queued_ns, ts AS at_ts, $DEVICE AS device, $OP,
    bytes AS size_bytes, sector, $WHO
FROM longest_requests('', :top + :more) $WHO_FROM
ORDER BY dur DESC

-- @section All requests
WITH h AS (
  SELECT who AS length, n
  FROM requests_by('length'))
$HISTOGRAM(requests)

-- @section Disks, by the kernel's counters
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
-- @note time in which threads waited for I/O
-- @of_machine
$PRESSURE(psi.io.*)
