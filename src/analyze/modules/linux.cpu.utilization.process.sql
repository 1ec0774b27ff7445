-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.utilization.process of trace_processor's library: for how long a process ran, and how many cycles it spent.

INCLUDE PERFETTO MODULE linux.cpu.utilization.general;

-- interval: in ns.
CREATE PERFETTO FUNCTION cpu_process_utilization_per_period(interval LONG, upid JOINID(process.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM _cpu_utilization_by_period!($interval, (SELECT ts, dur FROM _cpu_run WHERE upid = $upid));

CREATE PERFETTO FUNCTION cpu_process_utilization_per_second(upid JOINID(process.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM cpu_process_utilization_per_period(1000000000, $upid);

CREATE PERFETTO TABLE cpu_cycles_per_process(
  upid JOINID(process.id), millicycles LONG, megacycles LONG, runtime LONG, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT upid, _cpu_cycles!(dur, dur)
FROM _cpu_run_piece
WHERE upid IS NOT NULL
GROUP BY upid;

CREATE PERFETTO FUNCTION cpu_cycles_per_process_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(
  upid JOINID(process.id), millicycles LONG, megacycles LONG, runtime LONG, awake_runtime LONG, min_freq LONG, max_freq LONG,
  avg_freq LONG) AS
SELECT upid, _cpu_cycles_in_interval!(dur)
FROM _cpu_pieces_in_interval($ts, $dur)
WHERE upid IS NOT NULL
GROUP BY upid;
