-- SPDX-License-Identifier: Apache-2.0
-- Module slices.with_context of trace_processor's library: views with the same names and columns.

CREATE TEMP VIEW IF NOT EXISTS thread_slice AS
  SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name AS track_name,
      t.name AS thread_name, t.utid, t.tid, t.is_main_thread, p.name AS process_name, p.upid,
      p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur
  FROM slice s
  JOIN thread_track k ON k.id = s.track_id
  JOIN thread t ON t.utid = k.utid
  LEFT JOIN process p ON p.upid = t.upid;

CREATE TEMP VIEW IF NOT EXISTS process_slice AS
  SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name AS track_name,
      p.name AS process_name, p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts,
      s.thread_dur
  FROM slice s
  JOIN process_track k ON k.id = s.track_id
  JOIN process p ON p.upid = k.upid;

CREATE TEMP VIEW IF NOT EXISTS thread_or_process_slice AS
  SELECT id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, process_name,
      upid, pid, depth, parent_id, arg_set_id
  FROM thread_slice
  UNION ALL
  SELECT id, ts, dur, category, name, track_id, track_name, NULL, NULL, NULL, process_name, upid,
      pid, depth, parent_id, arg_set_id
  FROM process_slice;
