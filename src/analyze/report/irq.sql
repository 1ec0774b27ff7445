-- SPDX-License-Identifier: Apache-2.0
-- sonda report irq: time in interrupts.
--
-- @help time in interrupts, softirqs and timers, by CPU
-- @records irq

-- Sums of rows of the pass interrupts.
-- @define TIMES
sum(i.total) AS total_ns, 100.0 * sum(i.total) / (:to - :from) AS cpu_pct, sum(i.n) AS times,
    sum(i.total) / sum(i.n) AS mean_ns, max(i.worst) AS max_ns, i.worst_ts AS max_at_ts
FROM interrupts i
JOIN cpu_track t ON t.id = i.track_id

-- @define INTERRUPTS(type)
SELECT i.name, t.cpu, $TIMES
WHERE t.type = $type
GROUP BY i.name, t.cpu
ORDER BY total_ns DESC
LIMIT :top + :more

-- @define INTERRUPTS_BY(column, as, order)
SELECT $column $as, $TIMES
GROUP BY $column
ORDER BY $order
LIMIT :top + :more

-- @section Interrupts
-- @key interrupts
-- @of_machine
$INTERRUPTS('cpu_irq')

-- @section Softirqs
-- @key softirqs
-- @of_machine
$INTERRUPTS('cpu_softirq')

-- @section Timers
-- @key timers
-- @of_machine
$INTERRUPTS('cpu_hrtimer')

-- @section Interrupts of all CPUs
-- @key interrupts_by_name
-- @by name
-- @on_request
-- @of_machine
$INTERRUPTS_BY(i.name, , total_ns DESC)

-- @section CPUs in interrupts
-- @key cpus_in_interrupts
-- @by cpu
-- @on_request
-- @of_machine
$INTERRUPTS_BY(t.cpu, AS cpu, t.cpu)
