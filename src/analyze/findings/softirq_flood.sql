-- SPDX-License-Identifier: Apache-2.0
-- @title Softirq flood
-- @needs event irq/softirq_entry or table sched
-- @record irq sched
-- @threshold share_pct 20 of the CPU's time
-- @words CPU {cpu} spent {share_pct} % of its time in {softirq}
-- @more report irq
WITH i AS (
  SELECT c.cpu, 'softirq ' || i.name AS softirq, sum(i.n) AS n, sum(i.total) AS total, max(i.worst) AS worst, i.worst_ts
  FROM interrupts i
  JOIN cpu_track c ON c.id = i.track_id
  WHERE c.type = 'cpu_softirq'
  GROUP BY c.cpu, i.name
  UNION ALL
  SELECT used.cpu, who.thread, sum(used.n), sum(used.time), max(used.longest), NULL
  FROM used
  JOIN who USING (utid)
  WHERE who.thread GLOB 'ksoftirqd/*'
  GROUP BY used.cpu, who.thread)
SELECT cpu, softirq, 100.0 * total / (:to - :from) AS share_pct, total AS time_ns, n AS times, worst AS longest_ns,
    worst_ts AS at_ts
FROM i
