-- SPDX-License-Identifier: Apache-2.0
-- @help slices of instrumented programs
-- @records sched --app '*'

-- Waits (linux.waits) are slices, too, on tracks of that name; the kernel's own are on tracks of other types.
-- @section Slices
-- @by name
SELECT NULL, NULL, s.name, s.total, s.n, s.p50, s.p99, NULL
FROM slices_by('track') s
JOIN __intrinsic_track t ON t.id = s.track_id
WHERE t.type GLOB '*_track_event' AND t.name IS NOT 'waits'
