-- SPDX-License-Identifier: Apache-2.0
-- Module traced.stats of trace_processor's library: how long the service took to clone each buffer of this trace.

CREATE PERFETTO TABLE traced_clone_flush_latency(buffer_id LONG, duration_ns LONG) AS
SELECT done.idx AS buffer_id, done.value - started.value AS duration_ns
FROM stats done, stats started
WHERE done.name = 'traced_buf_clone_done_timestamp_ns' AND started.name = 'traced_clone_started_timestamp_ns'
  AND started.value > 0
ORDER BY done.idx;

-- From the trigger that asked for the clone.
CREATE PERFETTO TABLE traced_trigger_clone_flush_latency(buffer_id LONG, duration_ns LONG) AS
SELECT done.idx AS buffer_id, done.value - asked.value AS duration_ns
FROM stats done, stats asked
WHERE done.name = 'traced_buf_clone_done_timestamp_ns' AND asked.name = 'traced_clone_trigger_timestamp_ns'
  AND asked.value > 0
ORDER BY done.idx;
