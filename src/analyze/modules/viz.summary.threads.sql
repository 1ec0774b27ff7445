-- SPDX-License-Identifier: Apache-2.0
-- Module viz.summary.threads of trace_processor's library: what a trace has about each thread.

INCLUDE PERFETTO MODULE viz.summary.slices;

CREATE PERFETTO TABLE _sched_summary AS
SELECT utid, max(dur) AS max_running_dur, sum(dur) AS sum_running_dur, count() AS running_count
FROM sched
WHERE utid NOT IN (SELECT utid FROM thread WHERE is_idle) AND dur != -1
GROUP BY utid;

CREATE PERFETTO TABLE _thread_track_summary AS
SELECT t.utid, sum(s.cnt) AS slice_count
FROM _slice_track_summary s
JOIN thread_track t ON t.id = s.id
GROUP BY t.utid;

CREATE PERFETTO TABLE _perf_sample_summary AS
SELECT utid, count() AS perf_sample_cnt
FROM perf_sample
WHERE callsite_id IS NOT NULL
GROUP BY utid;

CREATE PERFETTO TABLE _thread_available_info_summary AS
SELECT t.utid, r.max_running_dur, r.sum_running_dur, r.running_count, coalesce(s.slice_count, 0) AS slice_count,
    coalesce(p.perf_sample_cnt, 0) AS perf_sample_count, 0 AS instruments_sample_count
FROM thread t
LEFT JOIN _sched_summary r ON r.utid = t.utid
LEFT JOIN _thread_track_summary s ON s.utid = t.utid
LEFT JOIN _perf_sample_summary p ON p.utid = t.utid
WHERE r.utid IS NOT NULL OR s.utid IS NOT NULL OR p.utid IS NOT NULL
ORDER BY t.utid;
