-- SPDX-License-Identifier: Apache-2.0
-- sonda report mem: memory of the machine and of processes, and what it costs to get some.
--
-- @help memory: sizes and growth, page cache by file, page faults, reclaim, stalls, OOM kills
-- @records mem

-- The largest value of a counter of each process.
-- @define LARGEST(name)
max(iif(t.name = '$name', c.value, NULL))

-- @define LARGEST_GROWTH(name)
max(iif(name = 'mem.$name', grown, NULL))

-- @define RECLAIM(of)
'mm_vmscan_${of}_reclaim_begin', 'mm_vmscan_${of}_reclaim_end',

-- p(upid, rss, anon, file, shmem, swap, peak): the largest size of each process.
-- @define SIZES
p AS (
  SELECT t.upid, $LARGEST(mem.rss) AS rss, $LARGEST(mem.rss.anon) AS anon,
      $LARGEST(mem.rss.file) AS file, $LARGEST(mem.rss.shmem) AS shmem, $LARGEST(mem.swap) AS swap,
      max(iif(t.name = 'mem.rss.watermark', c.value, NULL)) AS peak
  FROM __intrinsic_track t
  CROSS JOIN counter c ON c.track_id = t.id
  WHERE t.type = 'process_memory' AND c.ts >= :from AND c.ts <= :to AND t.upid IN (SELECT upid FROM
      thread WHERE utid IN chosen)
  GROUP BY t.upid)

-- @define RSS
coalesce(rss, coalesce(anon, 0) + coalesce(file, 0) + coalesce(shmem, 0))

-- @define FAULTS
f AS (
  SELECT utid, count(*) AS n
  FROM ftrace_event
  WHERE name IN ('page_fault_user', 'page_fault_kernel') AND ts >= :from AND ts <= :to AND utid IN
      chosen
  GROUP BY utid),
t AS (
  SELECT who, sum(n) AS n
  FROM f
  JOIN grp USING (utid)
  GROUP BY who)

-- stalls(utid, ts, dur, what): from pairs of events of a thread that begin and end reclaim or
-- compaction.
-- @define STALLS
ev AS (
  SELECT ts, utid, name, lead(name) OVER w AS next_name, lead(ts) OVER w AS next_ts
  FROM ftrace_event
  WHERE name IN ($RECLAIM(direct) $RECLAIM(memcg) $RECLAIM(memcg_softlimit)
      $RECLAIM(node)'mm_compaction_begin', 'mm_compaction_end', 'mm_vmscan_kswapd_wake',
      'mm_vmscan_kswapd_sleep')
  WINDOW w AS (PARTITION BY utid, substr(name, 1, 16) ORDER BY ts, id)),
stalls AS (
  SELECT utid, ts, next_ts - ts AS dur, CASE name WHEN 'mm_vmscan_direct_reclaim_begin' THEN
      'direct reclaim' WHEN 'mm_vmscan_memcg_reclaim_begin' THEN 'control group reclaim' WHEN
      'mm_compaction_begin' THEN 'compaction' WHEN 'mm_vmscan_kswapd_wake' THEN
      'background reclaim' ELSE name END AS what
  FROM ev
  WHERE (name GLOB '*_begin' OR name GLOB '*_wake') AND (next_name GLOB '*_end' OR next_name GLOB
      '*_sleep') AND ts >= :from AND next_ts <= :to AND utid IN chosen)

-- pages(utid, added, removed, dev, ino): pages of the page cache; an event is about 2^order pages.
-- @define PAGES
pages AS MATERIALIZED (
  SELECT e.utid, iif(f.name = 'mm_filemap_add_to_page_cache', e.n << coalesce($ARG(order), 0), 0) AS added,
      iif(f.name = 'mm_filemap_add_to_page_cache', 0, e.n << coalesce($ARG(order), 0)) AS removed,
      coalesce($ARG(s_dev), 0) AS dev, $ARG(i_ino) AS ino
  FROM $EVENTS(pages))

-- @define PAGE_SUMS
sum(added) AS added, sum(removed) AS removed, sum(added) - sum(removed) AS growth

-- @section Memory of the machine
-- @heading The machine's memory
-- @key machine_memory
-- @by machine
-- @more counters
WITH m AS (
  SELECT t.name, c.ts, c.value, first_value(c.value) OVER w AS first,
      last_value(c.value) OVER w AS last
  FROM __intrinsic_track t
  CROSS JOIN counter c ON c.track_id = t.id
  WHERE t.type = 'meminfo' AND c.ts >= :from AND c.ts <= :to
  WINDOW w AS (PARTITION BY c.track_id ORDER BY c.ts ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED
      FOLLOWING)),
g AS (
  SELECT name, min(value) AS low, max(value) AS high, first, last
  FROM m
  GROUP BY name)
SELECT name AS memory, first AS first_bytes, last AS last_bytes, last - first AS change_bytes,
    low AS min_bytes, high AS max_bytes
FROM g
WHERE name IN ('MemTotal', 'MemAvailable', 'MemFree') OR last != first
ORDER BY name NOT IN ('MemTotal', 'MemAvailable', 'MemFree'), abs(last - first) DESC
LIMIT :top + :more

-- @section Processes, by their largest size
-- @heading Processes, by peak size
-- @key processes
-- @records processes
-- @by process
WITH $SIZES
SELECT coalesce(process.name, '') AS process, pid, $RSS AS rss_bytes, anon AS anon_bytes, file AS file_bytes,
    shmem AS shmem_bytes, swap AS swap_bytes, peak AS peak_bytes
FROM p
JOIN process USING (upid)
ORDER BY rss_bytes DESC
LIMIT :top + :more

-- @section Growth of memory, by process
-- @key growth_by_process
-- @records growth
-- @by growth
-- @note from the first size in the window to the largest; last: from the first to the last size
WITH c AS (
  SELECT t.upid, t.name, max(c.value) OVER w - first_value(c.value) OVER w AS grown,
      last_value(c.value) OVER w - first_value(c.value) OVER w AS last
  FROM __intrinsic_track t
  CROSS JOIN counter c ON c.track_id = t.id
  WHERE t.type = 'process_memory' AND t.name IN ('mem.rss.anon', 'mem.rss.file', 'mem.rss.shmem',
      'mem.swap') AND c.ts >= :from AND c.ts <= :to AND t.upid IN (SELECT upid FROM thread WHERE
      utid IN chosen)
  WINDOW w AS (PARTITION BY c.track_id ORDER BY c.ts ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED
      FOLLOWING)),
g AS (
  SELECT upid, CAST($LARGEST_GROWTH(rss.anon) AS INTEGER) AS anon, CAST($LARGEST_GROWTH(rss.file)
      AS INTEGER) AS file, CAST($LARGEST_GROWTH(rss.shmem) AS INTEGER) AS shmem,
      CAST($LARGEST_GROWTH(swap) AS INTEGER) AS swap
  FROM c
  GROUP BY upid),
l AS (
  SELECT upid, CAST(sum(last) AS INTEGER) AS last
  FROM (SELECT DISTINCT upid, name, last FROM c WHERE name != 'mem.swap')
  GROUP BY upid)
SELECT coalesce(process.name, '') AS process, pid, coalesce(anon, 0) + coalesce(file, 0) +
    coalesce(shmem, 0) AS growth_bytes, anon AS anon_bytes, file AS file_bytes, shmem AS
    shmem_bytes, swap AS swap_bytes, last AS last_bytes
FROM g
JOIN l USING (upid)
JOIN process USING (upid)
WHERE coalesce(anon, 0) + coalesce(file, 0) + coalesce(shmem, 0) + coalesce(swap, 0) > 0
ORDER BY growth_bytes DESC
LIMIT :top + :more

-- @section Page cache: pages of files, by process
-- @key page_cache_by_process
-- @records pagecache
-- @by cache
-- @note the path is from a call that opened the file; otherwise device and inode numbers
WITH $PAGES, $BY_PROCESS, $PATHS, g AS (
  SELECT who, dev, ino, $PAGE_SUMS
  FROM pages
  JOIN grp USING (utid)
  GROUP BY who, dev, ino)
SELECT $PROCESS, added, removed, growth, coalesce(path, 'inode ' || ino) AS file, $DEVICE AS device
FROM g
LEFT JOIN paths USING (dev, ino) $PROCESS_FROM
ORDER BY added + removed DESC, ino
LIMIT :top + :more

-- @section Page cache: pages, by file
-- @key page_cache_by_file
-- @records pagecache
-- @by file
-- @on_request
WITH $PAGES, $PATHS, g AS (
  SELECT dev, ino, $PAGE_SUMS, count(DISTINCT utid) AS threads
  FROM pages
  GROUP BY dev, ino)
SELECT added, removed, growth, threads, coalesce(path, 'inode ' || ino) AS file, $DEVICE AS device
FROM g
LEFT JOIN paths USING (dev, ino)
ORDER BY added + removed DESC, ino
LIMIT :top + :more

-- @section Page cache: pages, by
-- @key page_cache_by
-- @records pagecache
-- @each container unit pod cgroup program
-- @on_request
WITH $BY_SUBJECT, $PAGES, t AS (
  SELECT who, $PAGE_SUMS, count(DISTINCT dev || ':' || ino) AS files
  FROM pages
  JOIN grp USING (utid)
  GROUP BY who)
SELECT $SUBJECT, added, removed, growth, files
FROM t $SUBJECT_FROM
ORDER BY added + removed DESC
LIMIT :top + :more

-- @section Sums of the largest sizes of processes, by
-- @heading Peak sizes of processes, added up by
-- @key processes_by
-- @records processes
-- @each container unit pod cgroup program
-- @on_request
WITH $BY_SUBJECT, $SIZES, t AS (
  SELECT who, sum($RSS) AS rss, sum(anon) AS anon, sum(file) AS file, sum(shmem) AS shmem,
      sum(swap) AS swap, count(*) AS n
  FROM p
  JOIN thread USING (upid)
  JOIN grp USING (utid)
  WHERE thread.is_main_thread
  GROUP BY who)
SELECT $SUBJECT, rss AS rss_bytes, anon AS anon_bytes, file AS file_bytes, shmem AS shmem_bytes,
    swap AS swap_bytes, n AS processes
FROM t $SUBJECT_FROM
ORDER BY rss_bytes DESC
LIMIT :top + :more

-- @section Page faults, by
-- @key page_faults_by
-- @each container unit pod cgroup program
-- @on_request
WITH $BY_SUBJECT, $FAULTS
SELECT $SUBJECT, n AS faults, 1e9 * n / (:to - :from) AS per_s
FROM t $SUBJECT_FROM
ORDER BY n DESC
LIMIT :top + :more

-- @section Page faults, counted in the kernel, by
-- @key counted_page_faults_by
-- @each container unit pod cgroup program
-- @on_request
WITH $BY_SUBJECT, g AS ($GROWN(t.name IN ('page faults', 'major page faults'))), t AS (
  SELECT who, CAST(sum(iif(g.name = 'page faults', grown, 0)) AS INTEGER) AS n,
      CAST(sum(iif(g.name != 'page faults', grown, 0)) AS INTEGER) AS major
  FROM g
  JOIN thread USING (upid)
  JOIN grp USING (utid)
  WHERE thread.is_main_thread AND utid IN chosen
  GROUP BY who
  HAVING sum(grown) > 0)
SELECT $SUBJECT, n AS faults, major
FROM t $SUBJECT_FROM
ORDER BY n DESC
LIMIT :top + :more

-- @section Page faults
-- @key page_faults
-- @by faults
WITH $BY_PROCESS, $FAULTS
SELECT $PROCESS, n AS faults, 1e9 * n / (:to - :from) AS per_s
FROM t $PROCESS_FROM
ORDER BY n DESC
LIMIT :top + :more

-- @section Page faults, counted in the kernel
-- @key counted_page_faults
-- @by faults
WITH g AS ($GROWN(t.name IN ('page faults', 'major page faults')))
SELECT iif(upid IS NULL, '(all)', coalesce(process.name, '')) AS process, pid,
    CAST(sum(iif(g.name = 'page faults', grown, 0)) AS INTEGER) AS faults,
    CAST(sum(iif(g.name != 'page faults', grown, 0)) AS INTEGER) AS major
FROM g
LEFT JOIN process USING (upid)
WHERE NOT (SELECT some FROM asked) OR upid IN (SELECT upid FROM thread WHERE utid IN chosen)
GROUP BY upid
HAVING sum(grown) > 0
ORDER BY faults DESC
LIMIT :top + :more

-- @section Time spent to free memory
-- @heading Time spent freeing memory
-- @key reclaim
-- @by reclaim
WITH $STALLS, s AS (
  SELECT utid, what, sum(dur) AS total, count(*) AS n, max(dur) AS worst, ts
  FROM stalls
  GROUP BY 1, 2)
SELECT what, $WHO, total AS total_ns, n AS times, worst AS max_ns, ts AS max_at_ts
FROM s $WHO_FROM
ORDER BY total DESC
LIMIT :top + :more

-- @section Work of the memory management
-- @heading Memory management
-- @key memory_management
-- @by reclaim
-- @more counters
-- @of_machine
WITH v AS (
  SELECT t.name, max(c.value) - min(c.value) AS n
  FROM __intrinsic_track t
  CROSS JOIN counter c ON c.track_id = t.id
  WHERE t.type = 'vmstat' AND (t.name GLOB 'pgfault' OR t.name GLOB 'pgmajfault' OR t.name GLOB
      'pgscan*' OR t.name GLOB 'pgsteal*' OR t.name GLOB 'allocstall*' OR t.name GLOB 'compact_*'
      OR t.name GLOB 'pswp*' OR t.name GLOB 'oom_kill' OR t.name GLOB 'workingset_refault*' OR
      t.name GLOB 'pgp*' OR t.name GLOB 'thp_*') AND c.ts >= :from AND c.ts <= :to
  GROUP BY t.id)
SELECT name AS counter, CAST(n AS INTEGER) AS grew_value, 1e9 * n / (:to - :from) AS per_s
FROM v
WHERE n > 0
ORDER BY n DESC
LIMIT :top + :more

-- @section Stalls
-- @key stalls
-- @note time in which threads waited for memory
-- @of_machine
$PRESSURE(psi.mem.*)

-- @section Processes that the kernel killed for memory
-- @heading OOM kills
-- @key oom_kills
-- @by oom
-- @of_machine
WITH v AS (
  SELECT ts, utid, extract_arg(arg_set_id, 'pid') AS pid
  FROM ftrace_event
  WHERE name = 'mark_victim' AND ts >= :from AND ts <= :to)
SELECT v.ts AS at_ts, v.pid, coalesce((SELECT name FROM thread WHERE tid = v.pid ORDER BY utid DESC
    LIMIT 1), '') AS process, $THREAD(thread) AS asked_for_memory
FROM v
JOIN thread USING (utid)
ORDER BY v.ts
LIMIT :top + :more
