-- SPDX-License-Identifier: Apache-2.0
-- Module slices.time_in_state of trace_processor's library: how long the thread of a slice was in each state during the slice.

INCLUDE PERFETTO MODULE intervals.intersect;
INCLUDE PERFETTO MODULE slices.with_context;

CREATE PERFETTO TABLE thread_slice_time_in_state(
  id JOINID(slice.id), name STRING, utid JOINID(thread.id), thread_name STRING, upid JOINID(process.id), process_name STRING,
  state STRING, io_wait BOOL, blocked_function STRING, dur DURATION) AS
SELECT s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, t.state, t.io_wait, t.blocked_function, sum(ii.dur) AS dur
FROM _interval_intersect!((
    (SELECT * FROM thread_slice WHERE dur > 0 AND utid > 0),
    (SELECT * FROM thread_state WHERE dur > 0)), (utid)) ii
JOIN thread_slice s ON s.id = ii.id_0
JOIN thread_state t ON t.id = ii.id_1
GROUP BY s.id, t.state, t.io_wait, t.blocked_function
ORDER BY s.id, t.state;
