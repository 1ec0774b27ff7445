-- SPDX-License-Identifier: Apache-2.0
-- Module viz.summary.slices of trace_processor's library: the slices of each track, as a reader of the trace draws them.

CREATE PERFETTO TABLE _slice_track_summary AS
SELECT track_id AS id, count() AS cnt, min(dur) AS min_dur, max(dur) AS max_dur, max(depth) AS max_depth
FROM slice
GROUP BY track_id;
