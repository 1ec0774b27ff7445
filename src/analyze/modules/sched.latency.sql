-- SPDX-License-Identifier: Apache-2.0
-- Module sched.latency of trace_processor's library: how long threads waited for a CPU.

INCLUDE PERFETTO MODULE sched.runnable;

-- For each time that a thread ran: how long it was runnable before.
CREATE PERFETTO TABLE sched_latency_for_running_interval(
  thread_state_id JOINID(thread_state.id), sched_id JOINID(sched.id), utid JOINID(thread.id),
  runnable_latency_id JOINID(thread_state.id), latency_dur LONG) AS
SELECT p.id AS thread_state_id, s.id AS sched_id, t.utid, w.id AS runnable_latency_id, w.dur AS latency_dur
FROM sched_previous_runnable_on_thread p
JOIN thread_state t ON t.id = p.id
JOIN sched s ON s.ts = t.ts AND s.utid = t.utid
JOIN thread_state w ON w.id = p.prev_runnable_id;
