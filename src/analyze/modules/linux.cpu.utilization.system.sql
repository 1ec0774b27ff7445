-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.utilization.system of trace_processor's library: how busy the CPUs were, and how many cycles they spent.

INCLUDE PERFETTO MODULE linux.cpu.utilization.general;

-- interval: in ns.
CREATE PERFETTO FUNCTION cpu_utilization_per_period(interval LONG)
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM _cpu_utilization_by_period!($interval, _cpu_run);

CREATE PERFETTO TABLE cpu_utilization_per_second(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM cpu_utilization_per_period(1000000000);

CREATE PERFETTO TABLE cpu_cycles(
  millicycles LONG, megacycles LONG, runtime LONG, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT _cpu_cycles!(dur, dur) FROM _cpu_run_piece;

CREATE PERFETTO TABLE cpu_cycles_per_cpu(
  ucpu LONG, cpu LONG, millicycles LONG, megacycles LONG, runtime LONG, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT ucpu, cpu, _cpu_cycles!(dur, dur)
FROM _cpu_run_piece
GROUP BY ucpu;

CREATE PERFETTO FUNCTION cpu_cycles_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(
  millicycles LONG, megacycles LONG, runtime LONG, awake_runtime LONG, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT _cpu_cycles_in_interval!(dur) FROM _cpu_pieces_in_interval($ts, $dur);

CREATE PERFETTO FUNCTION cpu_cycles_per_cpu_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(
  ucpu LONG, cpu LONG, millicycles LONG, megacycles LONG, runtime LONG, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT ucpu, cpu, _cpu_cycles!(dur, iif(freq IS NULL, 0, dur))
FROM _cpu_pieces_in_interval($ts, $dur)
GROUP BY ucpu;
