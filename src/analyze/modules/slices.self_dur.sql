-- SPDX-License-Identifier: Apache-2.0
-- Module slices.self_dur of trace_processor's library: the time of slices without that of the slices inside of them.

CREATE PERFETTO TABLE slice_self_dur(id ID(slice.id), self_dur DURATION) AS
SELECT s.id, s.dur - coalesce(c.dur, 0) AS self_dur
FROM slice s
LEFT JOIN (SELECT parent_id, sum(dur) AS dur FROM slice WHERE parent_id IS NOT NULL GROUP BY parent_id) c
  ON c.parent_id = s.id
ORDER BY s.id;
