-- SPDX-License-Identifier: Apache-2.0
-- Module sched.with_context of trace_processor's library: views with the same names and columns.

CREATE TEMP VIEW IF NOT EXISTS sched_with_thread_process AS
  SELECT s.id, s.ts, s.dur, s.utid, t.upid, t.name AS thread_name, p.name AS process_name, s.cpu,
      s.end_state, s.priority
  FROM sched s
  JOIN thread t ON t.utid = s.utid
  LEFT JOIN process p ON p.upid = t.upid;
