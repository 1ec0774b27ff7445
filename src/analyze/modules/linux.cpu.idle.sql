-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.idle of trace_processor's library: intervals with the idle state of a CPU; -1: it is not idle.

INCLUDE PERFETTO MODULE counters.intervals;

CREATE PERFETTO TABLE cpu_idle_counters(
  id LONG, track_id JOINID(track.id), ts TIMESTAMP, dur DURATION, idle LONG, cpu LONG) AS
SELECT i.id, i.track_id, i.ts, i.dur, iif(i.value = 4294967295, -1, cast_int!(i.value)) AS idle, k.cpu
FROM counter_leading_intervals!((
    SELECT c.* FROM counter c JOIN cpu_counter_track k ON k.id = c.track_id WHERE k.name = 'cpuidle')) i
JOIN cpu_counter_track k ON k.id = i.track_id;
