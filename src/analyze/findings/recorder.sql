-- SPDX-License-Identifier: Apache-2.0
-- Programs that record, sonda's own among them, and threads that a tracer stops.
--
-- @title Intrusive recorder
-- @needs table sched
-- @record sched
-- @threshold share_pct 10 of the machine's CPUs, or of the time of the threads that it stopped
-- @words {recorder} took {share_pct} % of {of}
-- @more report cpu --by program
WITH r AS (
  SELECT program, sum(run) AS run, sum(runnable) AS runnable, min(tid) AS tid
  FROM thread_time
  JOIN who USING (utid)
  WHERE program IN ('sondad', 'sonda-probes', 'traced', 'traced_probes', 'perfetto', 'perf', 'trace-cmd', 'bpftrace',
      'strace', 'ltrace', 'gdb', 'tcpdump', 'dumpcap', 'sysdig', 'uftrace', 'lttng-sessiond', 'lttng-consumerd', 'systing', 'wprof',
      'valgrind', 'blktrace')
  GROUP BY program)
SELECT program AS recorder, 'the time of the CPUs' AS of, 100.0 * run / (:to - :from) / (SELECT count(DISTINCT cpu) FROM used) AS
    share_pct, run AS time_ns, NULL AS stops
FROM r
UNION ALL
SELECT 'a tracer', 'the time of ' || process || ' ' || tid || ', which it stopped', 100.0 * traced / (run + runnable + blocked +
    traced), traced, NULL
FROM thread_time
JOIN who USING (utid)
WHERE traced > 10000000 AND utid IN chosen
