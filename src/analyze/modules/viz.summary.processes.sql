-- SPDX-License-Identifier: Apache-2.0
-- Module viz.summary.processes of trace_processor's library: what a trace has about each process.

INCLUDE PERFETTO MODULE viz.summary.counters;
INCLUDE PERFETTO MODULE viz.summary.threads;

CREATE PERFETTO TABLE _process_track_summary AS
SELECT t.upid, sum(s.cnt) AS slice_count
FROM _slice_track_summary s
JOIN process_track t ON t.id = s.id
GROUP BY t.upid;

CREATE PERFETTO TABLE _thread_process_grouped_summary AS
SELECT t.upid, max(i.max_running_dur) AS max_running_dur, sum(i.sum_running_dur) AS sum_running_dur,
    sum(i.running_count) AS running_count, sum(i.slice_count) AS slice_count, sum(i.perf_sample_count) AS perf_sample_count,
    sum(i.instruments_sample_count) AS instruments_sample_count
FROM _thread_available_info_summary i
JOIN thread t ON t.utid = i.utid
WHERE t.upid IS NOT NULL
GROUP BY t.upid;

-- Allocations and heaps are not imported.
CREATE PERFETTO TABLE _process_available_info_summary AS
SELECT p.upid, coalesce(g.max_running_dur, 0) AS max_running_dur, coalesce(g.sum_running_dur, 0) AS sum_running_dur,
    coalesce(g.running_count, 0) AS running_count, coalesce(g.slice_count, 0) AS thread_slice_count,
    coalesce(g.perf_sample_count, 0) AS perf_sample_count, coalesce(g.instruments_sample_count, 0) AS instruments_sample_count,
    coalesce(s.slice_count, 0) AS process_slice_count, 0 AS allocation_count, 0 AS graph_object_count
FROM process p
LEFT JOIN _thread_process_grouped_summary g ON g.upid = p.upid
LEFT JOIN _process_track_summary s ON s.upid = p.upid
WHERE g.upid IS NOT NULL OR s.upid IS NOT NULL
  OR p.upid IN (SELECT upid FROM process_counter_track JOIN _counter_track_summary USING (id))
ORDER BY p.upid;
