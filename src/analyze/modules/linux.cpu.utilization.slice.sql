-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.utilization.slice of trace_processor's library: how many cycles the thread of a slice spent during the slice.

INCLUDE PERFETTO MODULE intervals.intersect;
INCLUDE PERFETTO MODULE linux.cpu.utilization.general;
INCLUDE PERFETTO MODULE slices.with_context;

-- The cycles of slices with id, ts, dur and utid.
CREATE PERFETTO MACRO _cpu_cycles_of_slices(slices TableOrSubquery) RETURNS TableOrSubquery AS
(SELECT ii.id_0 AS id, cast_int!(sum(ii.dur * p.freq / 1000)) AS millicycles,
    cast_int!(sum(ii.dur * p.freq / 1000) / 1000000000) AS megacycles
  FROM _interval_intersect!((
      (SELECT id, ts, dur, utid FROM $slices WHERE dur > 0),
      (SELECT id, ts, dur, utid FROM _cpu_run_piece)), (utid)) ii
  JOIN _cpu_run_piece p ON p.id = ii.id_1
  GROUP BY ii.id_0);

CREATE PERFETTO TABLE cpu_cycles_per_thread_slice(
  id JOINID(slice.id), name STRING, utid JOINID(thread.id), thread_name STRING, upid JOINID(process.id), process_name STRING,
  millicycles LONG, megacycles LONG) AS
SELECT s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, c.millicycles, c.megacycles
FROM thread_slice s
LEFT JOIN _cpu_cycles_of_slices!(thread_slice) c ON c.id = s.id
ORDER BY s.id;

CREATE PERFETTO FUNCTION cpu_cycles_per_thread_slice_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(
  id JOINID(slice.id), name STRING, utid JOINID(thread.id), thread_name STRING, upid JOINID(process.id), process_name STRING,
  millicycles LONG, megacycles LONG) AS
SELECT s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, c.millicycles, c.megacycles
FROM thread_slice s
LEFT JOIN _cpu_cycles_of_slices!((
    SELECT id, max(ts, $ts) AS ts, min(ts + dur, $ts + $dur) - max(ts, $ts) AS dur, utid FROM thread_slice)) c ON c.id = s.id
WHERE s.ts < $ts + $dur AND s.ts + s.dur > $ts
ORDER BY s.id;
