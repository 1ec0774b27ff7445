-- SPDX-License-Identifier: Apache-2.0
-- Module sched.thread_executing_span of trace_processor's library: spans from a wakeup of a thread until it sleeps again, and the
-- critical path of a thread: whom it waited for, while it slept.

-- A row for each span. id: the row of thread_state that the wakeup began; waker_id: the span of the waker; idle_dur: how long the
-- thread slept before. is_idle_reason_self: an interrupt woke the thread, its waker is unknown, or it was blocked in the kernel.
CREATE PERFETTO TABLE _wakeup_graph AS
WITH
steps AS MATERIALIZED (
  SELECT id, ts, dur, utid, state, waker_id, iif(coalesce(irq_context, 0) = 0, coalesce(io_wait, 0), 1) AS by_irq,
      id = min(id) OVER (PARTITION BY utid) AS is_first, lag(state) OVER w AS state_before, lag(blocked_function) OVER w AS
      function_before, lag(ts) OVER w AS ts_before, lag(ts + dur) OVER w AS end_before, lag(dur) OVER w AS dur_before
  FROM thread_state
  WINDOW w AS (PARTITION BY utid ORDER BY id)),
woken AS (
  SELECT *, NOT is_first AS has_slept
  FROM steps
  WHERE dur != -1 AND iif(is_first, state = 'R', waker_id IS NOT NULL AND state_before IN ('S', 'D', 'I') AND dur_before != -1 AND
      end_before = ts)),
-- The last wakeup before each run.
runs AS (
  SELECT id AS run_id, state, max(iif(state = 'R', id, NULL)) OVER (PARTITION BY utid ORDER BY id) AS span_id
  FROM steps
  WHERE dur != -1 AND (state = 'Running' OR waker_id IS NOT NULL OR (is_first AND state = 'R'))),
last_run AS (
  SELECT utid, max(ts) + dur AS end_ts
  FROM thread_state
  WHERE dur != -1
  GROUP BY utid),
spans AS (
  SELECT w.utid, w.id, iif(w.by_irq, NULL, r.span_id) AS waker_id, w.ts, iif(w.by_irq, 'IRQ', iif(has_slept, state_before, NULL)) AS
      idle_state, iif(has_slept, function_before, NULL) AS idle_reason, iif(has_slept, ts_before, NULL) AS idle_ts,
      w.by_irq OR r.span_id IS NULL OR (has_slept AND state_before != 'S') AS is_self
  FROM woken w
  LEFT JOIN runs r ON r.run_id = w.waker_id AND r.state = 'Running')
SELECT utid, s.id, waker_id, s.ts, idle_state, idle_reason, s.ts - idle_ts AS idle_dur, is_self AS is_idle_reason_self,
    lag(s.id) OVER w AS prev_id, lead(s.id) OVER w AS next_id, coalesce(lead(idle_ts) OVER w, end_ts) - s.ts AS dur,
    lead(is_self) OVER w AS is_next_idle_reason_self
FROM spans s
LEFT JOIN last_run USING (utid)
WINDOW w AS (PARTITION BY utid ORDER BY s.ts)
ORDER BY s.id;

CREATE PERFETTO INDEX _wakeup_graph_id ON _wakeup_graph(id);
CREATE PERFETTO INDEX _wakeup_graph_utid ON _wakeup_graph(utid);

-- The critical path of a thread from ts on. While the thread slept, it has the span that led to the wakeup: that of the waker, before
-- that the span of the waker's waker, and so on, back to when the thread fell asleep. A thread that an interrupt woke, or that was
-- blocked in the kernel, is on the path itself, except while the wakers of that wakeup ran. root_id: the span of the thread.
CREATE PERFETTO FUNCTION _thread_executing_span_critical_path(root_utid JOINID(thread.id), ts TIMESTAMP, dur DURATION)
RETURNS TABLE(root_utid JOINID(thread.id), root_id LONG, id LONG, ts TIMESTAMP, dur DURATION, utid JOINID(thread.id)) AS
WITH RECURSIVE
mine AS MATERIALIZED (
  SELECT *, coalesce(prev_id, id) AS least_id
  FROM _wakeup_graph
  WHERE utid = $root_utid),
roots AS MATERIALIZED (
  SELECT *
  FROM mine
  WHERE id BETWEEN (SELECT max(id) FROM mine WHERE ts <= max($ts, (SELECT min(ts) FROM mine)))
    AND (SELECT min(id) FROM mine WHERE ts >= min($ts + $dur, (SELECT max(ts) FROM mine)))),
chain(root_id, id, least_id) AS (
  SELECT id, id, least_id
  FROM roots
  UNION
  SELECT c.root_id, iif(g.is_idle_reason_self, g.prev_id, g.waker_id), c.least_id
  FROM chain c
  CROSS JOIN _wakeup_graph g ON g.id = c.id
  WHERE c.id >= c.least_id),
links AS (
  SELECT c.root_id, c.id, g.ts, lead(g.ts) OVER (PARTITION BY c.root_id ORDER BY c.id) AS end_ts
  FROM chain c
  CROSS JOIN _wakeup_graph g ON g.id = c.id),
path AS MATERIALIZED (
  SELECT l.root_id, l.id, max(l.ts, r.ts - r.idle_dur) AS ts, min(l.end_ts, r.ts) AS end_ts
  FROM links l
  JOIN roots r ON r.id = l.root_id
  WHERE min(l.end_ts, r.ts) > max(l.ts, r.ts - r.idle_dur)
  UNION ALL
  SELECT id, id, ts, ts + dur
  FROM roots),
stalls AS MATERIALIZED (
  SELECT DISTINCT g.id, g.ts, g.idle_dur, coalesce(g.prev_id, g.id) AS least_id
  FROM path p
  CROSS JOIN _wakeup_graph g ON g.id = p.id
  WHERE g.is_idle_reason_self),
stall_chain(stall_id, id, least_id) AS (
  SELECT id, id, least_id
  FROM stalls
  UNION
  SELECT c.stall_id, g.waker_id, c.least_id
  FROM stall_chain c
  CROSS JOIN _wakeup_graph g ON g.id = c.id
  WHERE c.id >= c.least_id),
stall_links AS (
  SELECT c.stall_id, c.id, g.ts, lead(g.ts) OVER (PARTITION BY c.stall_id ORDER BY c.id) AS end_ts
  FROM stall_chain c
  CROSS JOIN _wakeup_graph g ON g.id = c.id),
stall_path AS MATERIALIZED (
  SELECT l.stall_id, l.id, max(l.ts, s.ts - s.idle_dur) AS ts, min(l.end_ts, s.ts) AS end_ts
  FROM stall_links l
  JOIN stalls s ON s.id = l.stall_id
  WHERE l.id != s.id),
-- A span that is followed by a stall has the id of the span after the stall.
named AS MATERIALIZED (
  SELECT DISTINCT p.root_id, p.id AS span_id, iif(g.is_next_idle_reason_self, g.next_id, g.id) AS id, p.ts, p.end_ts
  FROM path p
  CROSS JOIN _wakeup_graph g ON g.id = p.id),
parts AS MATERIALIZED (
  SELECT root_id, id, ts, end_ts, 1 AS begins
  FROM named
  WHERE end_ts > ts
  UNION ALL
  SELECT DISTINCT n.root_id, s.id, max(s.ts, n.ts), min(s.end_ts, n.end_ts), 2
  FROM named n
  JOIN stall_path s ON s.stall_id = n.id
  WHERE n.id IN (SELECT span_id FROM named o WHERE o.root_id = n.root_id) AND min(s.end_ts, n.end_ts) > max(s.ts, n.ts)),
-- Where a part begins, it is on the path, and a waker of a stall before another; where one ends and none begins, the root is.
turns AS (
  SELECT root_id, ts, id, begins
  FROM parts
  UNION ALL
  SELECT root_id, end_ts, root_id, 0
  FROM parts),
points AS (
  SELECT root_id, ts, id, max(begins)
  FROM turns
  GROUP BY root_id, ts),
flat AS (
  SELECT root_id, id, ts, lead(ts) OVER (PARTITION BY root_id ORDER BY ts) AS end_ts
  FROM points)
SELECT DISTINCT $root_utid AS root_utid, f.root_id, f.id, max(f.ts, $ts) AS ts, min(f.end_ts, $ts + $dur) - max(f.ts, $ts) AS dur, g.utid
FROM flat f
CROSS JOIN _wakeup_graph g ON g.id = f.id
WHERE min(f.end_ts, $ts + $dur) > max(f.ts, $ts);
