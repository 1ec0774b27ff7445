-- SPDX-License-Identifier: Apache-2.0
-- Module slices.hierarchy of trace_processor's library: a slice with its ancestors, or with its descendants.

CREATE PERFETTO FUNCTION _slice_ancestor_and_self(slice_id JOINID(slice.id))
RETURNS TABLE(
  id JOINID(slice.id), ts TIMESTAMP, dur DURATION, track_id JOINID(track.id), category STRING, name STRING, depth LONG,
  parent_id JOINID(slice.id), arg_set_id ARGSETID, thread_ts TIMESTAMP, thread_dur DURATION) AS
SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
FROM slice WHERE id = $slice_id
UNION ALL
SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
FROM ancestor_slice($slice_id);

CREATE PERFETTO FUNCTION _slice_descendant_and_self(slice_id JOINID(slice.id))
RETURNS TABLE(
  id JOINID(slice.id), ts TIMESTAMP, dur DURATION, track_id JOINID(track.id), category STRING, name STRING, depth LONG,
  parent_id JOINID(slice.id), arg_set_id ARGSETID, thread_ts TIMESTAMP, thread_dur DURATION) AS
SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
FROM slice WHERE id = $slice_id
UNION ALL
SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
FROM descendant_slice($slice_id);
