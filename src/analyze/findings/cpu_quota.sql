-- SPDX-License-Identifier: Apache-2.0
-- A thread that is ready to run waits for only microseconds while its CPU is idle, unless its
-- control group has used up its quota. linux.waits distinguishes such waits from others, even if
-- the CPU is not idle, and the kernel counts them by control group.
--
-- @title CPU quota
-- @needs table sched or source linux.waits or counter cpu.stat throttled_usec
-- @record sched waits cgroups
-- @threshold share_pct 10 of the time in which it ran or could have run
-- @threshold throttled_ns 50000000
-- @threshold times 3
-- @words {who} was throttled for {throttled_ns}, {share_pct} % of the time in which it could have run
-- @more report sched -p {tid}
WITH t AS (
  SELECT h.utid, h.long_time AS time, h.long_n AS n, h.longest, h.longest_ts
  FROM held_cpu h
  JOIN who i ON i.utid = h.holder
  WHERE i.thread = '(idle)')
SELECT who.process || ' ' || who.tid AS who, who.tid, 100.0 * time / (run + runnable) AS share_pct,
    time AS throttled_ns, n AS times, longest AS longest_ns, longest_ts AS at_ts
FROM t
JOIN thread_time USING (utid)
JOIN who USING (utid)
WHERE run + runnable > 0
UNION ALL
SELECT who.process || ' ' || who.pid, who.pid, 100.0 * sum(r.time) / (sum(r.time) + coalesce((SELECT sum(run) FROM thread_time JOIN
    thread t USING (utid) WHERE t.upid = who.upid), 0)), sum(r.time), sum(r.n), NULL, NULL
FROM wait_reasons r
JOIN who USING (utid)
WHERE r.reason = 'cgroup throttle' AND r.utid IN chosen
GROUP BY who.upid
UNION ALL
SELECT 'control group ' || p.name, NULL, min(100, 100.0 * g.grown / g.dur), CAST(g.grown AS INTEGER), CAST(n.grown AS
    INTEGER), NULL, g.first_ts
FROM grown g
JOIN __intrinsic_track p ON p.id = g.parent_id
JOIN grown n ON n.parent_id = g.parent_id AND n.name = 'cpu.stat nr_throttled'
WHERE g.name = 'cpu.stat throttled_usec' AND g.dur > 0
