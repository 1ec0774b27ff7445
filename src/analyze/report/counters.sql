-- SPDX-License-Identifier: Apache-2.0
-- sonda report counters: every counter track.
--
-- @help every counter: min, mean, max, last; the rate if it is cumulative
-- @records counters

-- A counter is a total if its type says so, or if the kernel's counters of that name are totals.
-- Counters of track events do not say so: they count as totals if their values never fell. A rate
-- is the growth divided by the time between the first and the last value. Means are by time: a
-- value holds until the next one.
-- @define IS_TOTAL
(t.type IN ('cpustat', 'num_irq', 'num_softirq', 'num_forks', 'num_irq_total', 'num_softirq_total',
    'psi', 'proc_stat_runtime', 'cpu_idle_state', 'net_receive', 'net_transmit',
    'net_kfree_skb') OR (t.type = 'vmstat' AND t.name NOT GLOB 'nr_*' AND t.name NOT GLOB
    'workingset_nodes') OR (t.type GLOB '*_counter_track_event' AND v.grew))

-- A row for each track: id, counter, of, times, ...
-- @define COUNTERS
WITH tracks AS (
  SELECT *
  FROM __intrinsic_track
  WHERE event_type = 'counter' AND (NOT (SELECT some FROM asked) OR utid IN chosen OR upid IN
      (SELECT upid FROM thread WHERE utid IN chosen))),
raw AS (
  SELECT c.track_id, c.ts, c.value, lag(value) OVER w AS before, lead(c.ts) OVER w AS next
  FROM counter c
  WHERE c.track_id IN (SELECT id FROM tracks) AND c.ts >= :from AND c.ts <= :to
  WINDOW w AS (PARTITION BY track_id ORDER BY ts, id)),
v AS (
  SELECT track_id, count(*) AS n, min(value) AS low, max(value) AS high,
      sum(value * (next - ts)) / sum(next - ts) AS held, avg(value) AS mean, min(ts) AS first_ts,
      max(ts) AS last_ts, max(iif(before IS NULL, value, NULL)) AS first, max(iif(next IS NULL,
      value, NULL)) AS last, min(before IS NULL OR value >= before) AND max(value) > 0 AND
      min(value) >= 0 AS grew
  FROM raw
  GROUP BY track_id)
SELECT t.id, coalesce((SELECT name || '/' FROM track g WHERE g.id = t.parent_id),
    '') || coalesce(t.name, t.type) AS counter, coalesce(p.name || ' ' || p.pid,
    h.name || ' ' || h.tid, 'CPU ' || t.cpu, '') AS of, v.n AS times, low AS min_value,
    coalesce(held, mean) AS mean_value, high AS max_value, last AS last_value,
    iif($IS_TOTAL AND last_ts > first_ts, 1e9 * (last - first) / (last_ts - first_ts),
    NULL) AS per_s_value, coalesce(t.counter_unit, CASE WHEN t.type IN ('cpustat', 'psi',
    'proc_stat_runtime') THEN 'ns' WHEN t.type IN ('process_memory',
    'smaps') THEN 'bytes' END) AS unit
FROM v
JOIN tracks t ON t.id = v.track_id
LEFT JOIN process p ON p.upid = t.upid
LEFT JOIN thread h ON h.utid = t.utid

-- @section Counters
-- @key counters
-- @by track
SELECT counter, of, times, min_value, mean_value, max_value, last_value, per_s_value, unit
FROM ($COUNTERS)
ORDER BY min_value = max_value, id
LIMIT :top + :more

-- @section Counters, by name
-- @key counters_by_name
-- @by name
-- @note over all processes, threads and CPUs that have a counter of this name
-- @on_request
SELECT counter, count(*) AS tracks, sum(times) AS times, min(min_value) AS min_value,
    avg(mean_value) AS mean_value, max(max_value) AS max_value,
    sum(last_value) AS sum_of_last_value, sum(per_s_value) AS per_s_value, unit
FROM ($COUNTERS)
GROUP BY counter, unit
ORDER BY min(min_value) = max(max_value), min(id)
LIMIT :top + :more
