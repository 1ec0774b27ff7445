-- SPDX-License-Identifier: Apache-2.0
-- What every script has without including it.

CREATE PERFETTO MACRO cast_int(value Expr) RETURNS Expr AS CAST($value AS INTEGER);
CREATE PERFETTO MACRO cast_double(value Expr) RETURNS Expr AS CAST($value AS REAL);
CREATE PERFETTO MACRO cast_string(value Expr) RETURNS Expr AS CAST($value AS TEXT);

-- True if the first slice is around the second one.
CREATE PERFETTO FUNCTION slice_is_ancestor(ancestor_id LONG, descendant_id LONG) RETURNS BOOL AS
SELECT a.track_id = d.track_id AND a.ts <= d.ts
    AND (a.dur = -1 OR a.ts + a.dur >= d.ts + d.dur)
    AND a.depth < d.depth
FROM slice a, slice d
WHERE a.id = $ancestor_id AND d.id = $descendant_id;
