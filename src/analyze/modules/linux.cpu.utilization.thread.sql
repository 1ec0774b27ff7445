-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.utilization.thread of trace_processor's library: for how long a thread ran, and how many cycles it spent.

INCLUDE PERFETTO MODULE linux.cpu.utilization.general;

-- interval: in ns.
CREATE PERFETTO FUNCTION cpu_thread_utilization_per_period(interval LONG, utid JOINID(thread.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM _cpu_utilization_by_period!($interval, (SELECT ts, dur FROM sched WHERE utid = $utid AND dur > 0));

CREATE PERFETTO FUNCTION cpu_thread_utilization_per_second(utid JOINID(thread.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM cpu_thread_utilization_per_period(1000000000, $utid);

CREATE PERFETTO TABLE cpu_cycles_per_thread(
  utid JOINID(thread.id), millicycles LONG, megacycles LONG, runtime LONG, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT utid, _cpu_cycles!(dur, dur)
FROM _cpu_run_piece
WHERE utid IS NOT NULL
GROUP BY utid;

CREATE PERFETTO FUNCTION cpu_cycles_per_thread_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(
  utid JOINID(thread.id), millicycles LONG, megacycles LONG, runtime LONG, awake_runtime LONG, min_freq LONG, max_freq LONG,
  avg_freq LONG) AS
SELECT utid, _cpu_cycles_in_interval!(dur)
FROM _cpu_pieces_in_interval($ts, $dur)
WHERE utid IS NOT NULL
GROUP BY utid;
