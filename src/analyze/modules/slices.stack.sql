-- SPDX-License-Identifier: Apache-2.0
-- Module slices.stack of trace_processor's library: slices with the same names around them.

-- The hash of the names and categories of a slice and its ancestors; that of its ancestors, or 0.
CREATE PERFETTO TABLE _slice_stack_ids AS
WITH RECURSIVE stacks(id, stack_id, parent_stack_id) AS (
  SELECT id, hash(0, category, name), 0 FROM slice WHERE parent_id IS NULL
  UNION ALL
  SELECT s.id, hash(p.stack_id, s.category, s.name), p.stack_id FROM stacks p JOIN slice s ON s.parent_id = p.id)
SELECT id, stack_id, parent_stack_id FROM stacks ORDER BY id;
CREATE PERFETTO INDEX _slice_stack_ids_by_stack ON _slice_stack_ids(stack_id);
CREATE PERFETTO INDEX _slice_stack_ids_by_id ON _slice_stack_ids(id);

CREATE PERFETTO VIEW slice_with_stack_id AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur,
    s.thread_instruction_count, s.thread_instruction_delta, t.stack_id, t.parent_stack_id
FROM slice s
JOIN _slice_stack_ids t ON t.id = s.id;

CREATE PERFETTO FUNCTION ancestor_slice_by_stack(stack_hash LONG)
RETURNS TABLE(id LONG, ts TIMESTAMP, dur DURATION, track_id LONG, category STRING, name STRING, depth LONG, parent_id LONG,
  arg_set_id LONG, thread_ts TIMESTAMP, thread_dur LONG) AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur
FROM slice s
WHERE s.id IN (
  SELECT id FROM _slice_stack_ids WHERE stack_id = $stack_hash
  UNION
  SELECT a.id FROM _slice_stack_ids t, ancestor_slice(t.id) a WHERE t.stack_id = $stack_hash)
ORDER BY s.id;

CREATE PERFETTO FUNCTION descendant_slice_by_stack(stack_hash LONG)
RETURNS TABLE(id LONG, ts TIMESTAMP, dur DURATION, track_id LONG, category STRING, name STRING, depth LONG, parent_id LONG,
  arg_set_id LONG, thread_ts TIMESTAMP, thread_dur LONG) AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur
FROM slice s
WHERE s.id IN (
  SELECT id FROM _slice_stack_ids WHERE stack_id = $stack_hash
  UNION
  SELECT d.id FROM _slice_stack_ids t, descendant_slice(t.id) d WHERE t.stack_id = $stack_hash)
ORDER BY s.id;
