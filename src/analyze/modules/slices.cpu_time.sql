-- SPDX-License-Identifier: Apache-2.0
-- Module slices.cpu_time of trace_processor's library: how long the thread of a slice ran during the slice.

INCLUDE PERFETTO MODULE intervals.intersect;
INCLUDE PERFETTO MODULE slices.with_context;

CREATE PERFETTO TABLE thread_slice_cpu_time(
  id JOINID(slice.id), name STRING, utid JOINID(thread.id), thread_name STRING, upid JOINID(process.id), process_name STRING,
  cpu_time LONG) AS
SELECT s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, sum(ii.dur) AS cpu_time
FROM _interval_intersect!((
    (SELECT * FROM thread_slice WHERE utid > 0 AND dur > 0),
    (SELECT * FROM sched WHERE dur > 0)), (utid)) ii
JOIN thread_slice s ON s.id = ii.id_0
GROUP BY s.id
ORDER BY s.id;
