-- SPDX-License-Identifier: Apache-2.0
-- Module sched.runnable of trace_processor's library: how a thread waited for a CPU before it ran.

-- For each row of thread_state in which a thread runs, and stops before the end of the trace: the row before in which it was runnable, and the last such row that a
-- wakeup began.
CREATE PERFETTO TABLE sched_previous_runnable_on_thread(
  id JOINID(thread_state.id), prev_runnable_id JOINID(thread_state.id), prev_wakeup_runnable_id JOINID(thread_state.id)) AS
SELECT id, prev_runnable_id, prev_wakeup_runnable_id
FROM (
  SELECT id, state,
      max(iif(state IN ('R', 'R+'), id, NULL)) OVER so_far AS prev_runnable_id,
      max(iif(waker_utid IS NOT NULL AND (irq_context IS NULL OR irq_context != 1), id, NULL)) OVER so_far
        AS prev_wakeup_runnable_id
  FROM thread_state
  WHERE dur != -1
  WINDOW so_far AS (PARTITION BY utid ORDER BY id ROWS UNBOUNDED PRECEDING))
WHERE state = 'Running'
ORDER BY id;
