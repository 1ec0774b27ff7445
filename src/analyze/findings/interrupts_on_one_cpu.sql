-- SPDX-License-Identifier: Apache-2.0
-- @title Interrupts on one CPU
-- @needs event irq/irq_handler_entry
-- @record irq
-- @threshold share_pct 5 of the CPU's time, in device interrupts and softirqs
-- @threshold of_all_pct 90 of all device interrupts
-- @threshold per_s 500 device interrupts
-- @threshold cpus 2 in the machine
-- @words CPU {cpu} handled {of_all_pct} % of all device interrupts ({per_s} a second), mostly from {device}, and spent {share_pct} % of its time in them and in softirqs
-- @more report irq
WITH i AS MATERIALIZED (
  SELECT c.cpu, c.type, i.name, i.n, i.total, i.worst, i.worst_ts
  FROM interrupts i
  JOIN cpu_track c ON c.id = i.track_id
  WHERE c.type IN ('cpu_irq', 'cpu_softirq')),
hard AS (
  SELECT cpu, sum(n) AS n, name, max(n), worst, worst_ts
  FROM i
  WHERE type = 'cpu_irq'
  GROUP BY cpu)
SELECT cpu, name AS device, 100.0 * (SELECT sum(total) FROM i WHERE i.cpu = hard.cpu) / (:to - :from) AS share_pct,
    1e9 * n / (:to - :from) AS per_s, 100.0 * n / (SELECT sum(n) FROM hard) AS of_all_pct, n AS interrupts,
    max((SELECT count(DISTINCT cpu) FROM used), (SELECT count(*) FROM cpu)) AS cpus, worst AS longest_ns, worst_ts AS at_ts
FROM hard
