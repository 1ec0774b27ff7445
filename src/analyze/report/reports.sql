-- SPDX-License-Identifier: Apache-2.0
--
-- The reports of sonda report in the order of the help, and what their statements share. tools/reports.awk
-- makes C from these files. A file NAME.sql has
--
--	@help, @records, @of_thread, @of_subject, @of_findings	of the report: see struct report in report.h
--	@define NAME(parameters)	a text: $NAME(arguments) stands for it, $parameter for an argument
--	@section TITLE			a statement; @by, @more, @records (else those of the report) and others: see
--					struct report_section
--	@heading TEXT			what people read in place of the title, which never changes
--	@key NAME			the section's name for programs, beside its title; it never changes
--	@each WORDS			a section "TITLE WORD" with @by WORD and the key NAME_WORD for each of
--					them, which is $subject
--
-- See passes.h for intervals that did not end, or that reach out of the window.
--
-- @order overview findings cpu sched latency neighbours wakeups why waits timeline end functions
-- @order syscalls io irq timers mem net counters histograms slices loss

-- Columns that name a thread and its process, from the tables thread and process.
-- @define WHO
iif(thread.is_idle, '(idle)', coalesce(thread.name, process.name, '')) AS thread, thread.tid,
    coalesce(process.name, '') AS process

-- @define WHO_FROM
JOIN thread USING (utid)
LEFT JOIN process USING (upid)

-- One column that names a thread. t: alias of the table thread.
-- @define THREAD(t)
iif($t.is_idle, '(idle)', coalesce($t.name, '') || ' ' || $t.tid)

-- grp(utid, who): the upid of each thread's process, or -1 - utid; and columns that name who.
-- @define BY_PROCESS
grp AS (
  SELECT utid, coalesce(upid, -1 - utid) AS who
  FROM thread)

-- @define PROCESS
coalesce(process.name, thread.name, '') AS process, coalesce(process.pid, thread.tid) AS pid

-- @define PROCESS_FROM
LEFT JOIN process ON process.upid = who
LEFT JOIN thread ON thread.utid = -1 - who

-- grp(utid, who): the name of the main thread, which is the program that the process runs.
-- @define BY_PROGRAM
grp AS (
  SELECT g.utid, coalesce(m.name, g.name, '') AS who
  FROM thread g
  LEFT JOIN thread m ON m.upid = g.upid AND m.is_main_thread)

-- @define PROGRAM
who AS program

-- grp(utid, who): to whom each thread belongs: the last container, unit, pod or control group that
-- it was in within the window, or its program; and the column that names it. Passes with the
-- argument $subject have such a who as well, the one at the time of each interval.
-- @define BY_SUBJECT
grp AS (
  SELECT utid, who
  FROM subject_of('$subject'))

-- @define SUBJECT
coalesce(subjects.name, '(unknown)') AS $subject

-- @define SUBJECT_FROM
LEFT JOIN subjects('$subject') ON subjects.who = t.who

-- The name of the slice in which a thread is at a time: a system call, a work item, a slice of
-- the program. It is the last one that began, or the one around it.
-- @define SLICE_AT(utid, at)
(SELECT coalesce(iif(l.dur < 0 OR l.ts + l.dur >= $at,
    iif(l.category = 'workqueue' AND l.name GLOB '0x*', 'work item', l.name), NULL),
    (SELECT u.name FROM slice u WHERE u.id = l.parent_id AND (u.dur < 0 OR u.ts + u.dur >= $at)))
    FROM slice l WHERE l.id = (SELECT id FROM slice WHERE track_id = (SELECT id FROM thread_track
    WHERE utid = $utid AND type = 'thread_execution') AND ts <= $at ORDER BY ts DESC LIMIT 1))

-- The interrupt in which a CPU is at a time.
-- @define INTERRUPT_AT(cpu, at)
(SELECT group_concat(name, ' in ') FROM (SELECT s.name FROM cpu_track t JOIN slice s ON s.id =
    (SELECT id FROM slice WHERE track_id = t.id AND ts <= $at ORDER BY ts DESC LIMIT 1) WHERE t.cpu
    = $cpu AND t.type IN ('cpu_irq', 'cpu_softirq',
    'cpu_hrtimer') AND (s.dur < 0 OR s.ts + s.dur >= $at) ORDER BY s.ts DESC))

-- A line of full blocks, in proportion to the number; the largest number has up to 40.
-- @define BAR_WIDTH
min(40, max(10, :width / 2))

-- @define BAR(number, largest)
replace(printf('%.*c', max(1, $BAR_WIDTH * $number / max(1, $largest)), '#'), '#', substr(:blocks, 8, 1))

-- Rows of the table h(length, n) as a histogram; length: pass_length() in pass.h.
-- @define HISTOGRAM(what)
SELECT iif(length = 0, 0, 1000 << (length - 1)) AS from_ns, 1000 << length AS to_ns, n AS $what,
    $BAR(n, (SELECT max(n) FROM h)) AS share_bar
FROM h
ORDER BY length

-- The longest waits, with who had the CPU for the longest part of each.
--
--	placed	the waits, each from the wakeup or the preemption until the thread ran, and the CPU
--		on which it ended; the waker is NULL if an interrupt woke the thread
--	held	how long each other thread had it
-- @define PLACED
placed AS MATERIALIZED (
  SELECT w.id, w.utid, h.first AS ts, h.time AS dur, w.waker_utid IS NOT NULL AS woken,
      iif(w.irq_context = 1 OR w.waker_utid IN (SELECT utid FROM thread WHERE is_idle), NULL,
      w.waker_utid) AS waker_utid, h.cpu
  FROM holders('', :top) h
  CROSS JOIN thread_state w ON w.id = h.id
  WHERE h.holder IS NULL
  ORDER BY h.time DESC, w.id),
held AS (
  SELECT id, holder, time, first, n AS times
  FROM holders('', :top)
  WHERE holder IS NOT NULL)

-- @define WORST_WAITS
WITH $PLACED, behind AS (
  SELECT id, holder, max(time) AS time
  FROM held
  GROUP BY id)
SELECT placed.dur AS wait_ns, placed.ts AS at_ts, placed.cpu, $WHO, iif(woken, 'wakeup',
    'preemption') AS since, $THREAD(h) AS behind, time AS held_ns, iif(woken,
    coalesce((SELECT $THREAD(k) FROM thread k WHERE k.utid = placed.waker_utid), 'interrupt'),
    NULL) AS waker
FROM placed
JOIN thread ON thread.utid = placed.utid
LEFT JOIN process USING (upid)
LEFT JOIN behind ON behind.id = placed.id
LEFT JOIN thread h ON h.utid = behind.holder
ORDER BY wait_ns DESC, placed.id

-- How long threads slept beyond the expiry of their timers.
-- @define LATE_TIMERS
SELECT $WHO, n AS sleeps, total / n AS mean_ns, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns,
    worst_ts AS due_at_ts
FROM late_by('thread') t
JOIN thread ON utid = who
LEFT JOIN process USING (upid)
ORDER BY worst DESC, who
LIMIT :top + :more

-- paths(dev, ino, ts, path): files that calls opened, each by the path of the last call.
-- @define PATHS
paths AS MATERIALIZED (
  SELECT extract_arg(arg_set_id, 'debug.dev') AS dev, extract_arg(arg_set_id, 'debug.inode') AS ino,
      max(ts) AS ts, iif(name IN ('sys_open', 'sys_creat'), extract_arg(arg_set_id, 'debug.arg0'),
      extract_arg(arg_set_id, 'debug.arg1')) AS path
  FROM slice
  WHERE name IN ('sys_open', 'sys_openat', 'sys_openat2', 'sys_creat') AND extract_arg(arg_set_id,
      'debug.inode') IS NOT NULL
  GROUP BY dev, ino)

-- Groups of kernel events, and the event f that has the arguments of each.
-- @define EVENTS(subject)
events_by('$subject') e
CROSS JOIN ftrace_event f ON f.id = e.first

-- @define ARG(name)
extract_arg(f.arg_set_id, '$name')

-- The last value of track t that is not later than the window's begin; NULL: there is none.
-- @define VALUE_BEFORE
(SELECT b.value FROM counter b WHERE b.track_id = t.id AND b.ts <= :from ORDER BY b.ts DESC LIMIT 1)

-- The growth of totals that begin with the recording (eBPF), in the window: name, upid, grown;
-- condition is on track t. A part of a trace begins with the values of the totals that began before
-- it; a total without a value there began later, with 0.
-- @define GROWN(condition)
SELECT t.name, t.upid, max(c.value) - coalesce($VALUE_BEFORE, 0) AS grown
FROM __intrinsic_track t
CROSS JOIN counter c ON c.track_id = t.id
WHERE t.type GLOB '*_counter_track_event' AND $condition AND c.ts >= :from AND c.ts <= :to
GROUP BY t.id

-- The growth of the counters of pressure whose names match: name, stalled_ns, share_pct.
-- @define PRESSURE_ROWS(names)
SELECT name, CAST(stalled AS INTEGER) AS stalled_ns, 100.0 * stalled / of AS share_pct
FROM (SELECT t.name, max(c.value) - min(c.value) AS stalled,
    max(c.ts) - min(c.ts) AS of FROM __intrinsic_track t CROSS JOIN counter c ON c.track_id = t.id
    WHERE t.type = 'psi' AND t.name GLOB '$names' AND c.ts >= :from AND c.ts <= :to GROUP BY t.id)
WHERE of > 0 AND stalled > 0

-- @define PRESSURE(names)
SELECT iif(name GLOB '*.some', 'some threads', 'all threads') AS who, stalled_ns, share_pct
FROM ($PRESSURE_ROWS($names))
ORDER BY name DESC

-- samples(utid, cpu_mode): those of the chosen threads within the window. Samples without a call
-- stack only have values of counters.
-- @define SAMPLES
samples AS (
  SELECT utid, cpu_mode
  FROM perf_sample
  WHERE ts >= :from AND ts < :to AND utid IN chosen AND callsite_id IS NOT NULL)

-- Rows by function, the one with most samples of its own first. Notes in stacks are not functions.
-- @define FUNCTIONS
WITH f AS MATERIALIZED (
  SELECT *
  FROM functions_by('cpu')),
whole AS (
  SELECT sum(n) AS n
  FROM f)
SELECT f.n AS self, 100.0 * f.n / whole.n AS self_pct, total_n AS total, 100.0 * total_n / whole.n
    AS total_pct, function, file
FROM f, whole
ORDER BY self DESC, total DESC, function

-- A tree of calls. $number: the columns between the shares and the picture.
-- @define CALL_TREE(words, numbers)
SELECT 100.0 * total / whole AS total_pct, 100.0 * own / whole AS self_pct, $numbers,
    printf('%*s', begin * $GRAPH_WIDTH / max(1, whole), '') || $GRAPH_BAR AS graph_bar,
    iif(:text, printf('%*s', 2 * indent, '') || iif(branch, '- ', '  '), '') || function AS function,
    file, depth
FROM code_tree($words, :top)

-- @define GRAPH_WIDTH
max(10, :width / 3)

-- At least one block, which ends with the line.
-- @define GRAPH_BAR
replace(printf('%.*c', max(1, (begin + total) * $GRAPH_WIDTH / max(1, whole) - begin * $GRAPH_WIDTH
    / max(1, whole)), '#'), '#', substr(:blocks, 8, 1))

-- The reason of a row of code_waits or single_waits. A futex is a lock or a condition.
-- @define REASON
iif(condition AND reason = 'futex', 'condition', reason)

-- Whether a wait does harm: the thread could have worked on but for a disk, a lock, memory or its
-- CPU quota. 0: yes; 1: it waits for another process or the network; 2: it has nothing to do.
-- @define RANK(reason)
CASE WHEN $reason IN ('disk', 'disk read', 'direct I/O', 'block queue', 'fsync', 'sync', 'msync', 'write-back',
    'journal', 'throttled writer', 'page fault', 'swap in', 'memory reclaim', 'userfault', 'NFS', 'FUSE', 'mutex', 'rwsem',
    'rt mutex', 'percpu rwsem', 'kernel semaphore', 'VMA lock', 'network lock', 'file lock', 'futex', 'semaphore', 'RCU',
    'cgroup throttle', 'freezer') OR $reason GLOB 'other*' THEN 0
  WHEN $reason IN ('epoll', 'poll', 'select', 'sleep', 'accept', 'signal', 'child', 'timerfd', 'inotify', 'stopped', 'terminal',
    'kernel thread without work', 'kernel thread') THEN 2
  ELSE 1 END

-- The number of a device as user space knows it: major:minor.
-- @define DEVICE_NUMBER
((dev >> 8) & 4095) || ':' || ((dev & 255) | ((dev >> 12) & 1048320))

-- The name of a device, which the group of its counter tracks has beside the number; the number if
-- the trace has no counters of the device.
-- @define DEVICE
coalesce((SELECT g.name FROM __intrinsic_track p CROSS JOIN __intrinsic_track g ON g.parent_id =
    p.id CROSS JOIN args a ON a.arg_set_id = g.source_arg_set_id WHERE p.name = 'diskstats' AND
    a.key = 'description' AND a.string_value = $DEVICE_NUMBER), $DEVICE_NUMBER)

-- The operation of a request in requests_by and longest_requests.
-- @define OP
CASE op WHEN 0 THEN 'read' WHEN 1 THEN 'write' WHEN 2 THEN 'discard' WHEN 3 THEN 'flush' ELSE
    'other' END AS op
