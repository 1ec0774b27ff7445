-- SPDX-License-Identifier: Apache-2.0
-- @title Slow disk
-- @needs event block/block_rq_issue
-- @needs event block/block_rq_complete
-- @record io
-- @threshold share_pct 10 of the window with an outstanding request
-- @threshold mean_ns 20000000 per request
-- @threshold requests 10
-- @words {requests} {op} requests to {device} took {mean_ns} on average; the slowest took {longest_ns}
-- @more report io
WITH r AS (
  SELECT who AS dev, op, n, bytes, total, p99, worst
  FROM requests_by('device'))
SELECT coalesce((SELECT g.name FROM __intrinsic_track p CROSS JOIN __intrinsic_track g ON g.parent_id = p.id CROSS JOIN args a
    ON a.arg_set_id = g.source_arg_set_id WHERE p.name = 'diskstats' AND a.key = 'description' AND a.string_value =
    ((dev >> 8) & 4095) || ':' || ((dev & 255) | ((dev >> 12) & 1048320))), ((dev >> 8) & 4095) || ':' || ((dev & 255) |
    ((dev >> 12) & 1048320))) AS device, CASE op WHEN 0 THEN 'read' WHEN 1 THEN 'write' WHEN 2 THEN 'discard' WHEN 3 THEN
    'flush' ELSE 'other' END AS op, n AS requests, bytes AS size_bytes, min(100, 100.0 * total / (:to - :from)) AS share_pct,
    total / n AS mean_ns, p99 AS p99_ns, worst AS longest_ns, (SELECT l.ts FROM longest_requests('', 1000) l WHERE l.dev =
    r.dev AND l.op = r.op ORDER BY l.dur DESC LIMIT 1) AS at_ts, (SELECT process || ' ' || tid FROM longest_requests('', 1000) l
    JOIN who USING (utid) WHERE l.dev = r.dev AND l.op = r.op ORDER BY l.dur DESC LIMIT 1) AS thread
FROM r
