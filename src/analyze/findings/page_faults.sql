-- SPDX-License-Identifier: Apache-2.0
-- The share counts 1 us for a minor page fault, and 100 us for a major one, which reads from a disk.
--
-- @title Page-fault storm
-- @needs counter page faults
-- @record faults
-- @threshold share_pct 5 of a CPU's time, at 1 us for a minor and 100 us for a major page fault
-- @threshold faults 20000
-- @words {process} had {per_s} page faults a second; {major} in total were major
-- @more report mem -p {pid}
WITH f AS (
  SELECT upid, sum(iif(name = 'page faults', grown, 0)) AS n, sum(iif(name != 'page faults', grown, 0)) AS major, max(dur) AS dur,
      min(first_ts) AS ts
  FROM grown
  WHERE name IN ('page faults', 'major page faults') AND upid IS NOT NULL
  GROUP BY upid)
SELECT p.process, p.pid, min(100, 100.0 * (1000 * n + 100000 * major) / dur) AS share_pct, 1e9 * n / dur AS per_s,
    CAST(n + 100 * major AS INTEGER) AS faults, CAST(major AS INTEGER) AS major, dur AS over_ns, ts AS at_ts
FROM f
JOIN (SELECT DISTINCT upid, process, pid FROM who) p USING (upid)
WHERE dur >= 500000000 AND upid IN (SELECT upid FROM thread WHERE utid IN chosen)
