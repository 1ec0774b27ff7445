-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.utilization.general: what the modules linux.cpu.utilization.* share.

INCLUDE PERFETTO MODULE linux.cpu.frequency;

CREATE PERFETTO VIEW _cpu_run AS
SELECT s.ts, s.dur, s.ucpu, s.cpu, s.utid, t.upid
FROM sched s
JOIN thread t ON t.utid = s.utid
WHERE s.dur > 0 AND NOT t.is_idle;

CREATE PERFETTO VIEW _cpu_frequency AS SELECT ts, dur, ucpu, freq FROM cpu_frequency_counters;
CREATE VIRTUAL TABLE _cpu_run_with_frequency USING SPAN_LEFT_JOIN(_cpu_run PARTITIONED ucpu, _cpu_frequency PARTITIONED ucpu);

-- The runs of all threads but the idle ones, each cut where the frequency of its CPU changes. freq is NULL where it is unknown.
CREATE PERFETTO TABLE _cpu_run_piece AS
SELECT row_number() OVER () AS id, ts, dur, ucpu, cpu, utid, upid, freq
FROM _cpu_run_with_frequency;

-- The columns about cycles of an aggregate over pieces of runs. A frequency is in kHz, so frequency * ns / 1000 are thousandths of a
-- cycle. $known: the time that the average frequency refers to.
CREATE PERFETTO MACRO _cpu_cycles(dur Expr, known Expr) RETURNS _ProjectionFragment AS
  cast_int!(sum($dur * freq / 1000)) AS millicycles, cast_int!(sum($dur * freq / 1000) / 1000000000) AS megacycles,
  sum($dur) AS runtime, min(freq) AS min_freq, max(freq) AS max_freq,
  cast_int!(sum($dur * freq / 1000) / (sum($known) / 1000)) AS avg_freq;

-- The same of the pieces within an interval. trace_processor has awake_runtime only where a suspend was recorded.
CREATE PERFETTO MACRO _cpu_cycles_in_interval(dur Expr) RETURNS _ProjectionFragment AS
  cast_int!(sum($dur * freq / 1000)) AS millicycles, cast_int!(sum($dur * freq / 1000) / 1000000000) AS megacycles,
  sum($dur) AS runtime, NULL AS awake_runtime, min(freq) AS min_freq, max(freq) AS max_freq,
  cast_int!(sum($dur * freq / 1000) / (sum(iif(freq IS NULL, 0, $dur)) / 1000)) AS avg_freq;

CREATE PERFETTO FUNCTION _cpu_pieces_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(dur DURATION, ucpu LONG, cpu LONG, utid LONG, upid LONG, freq LONG) AS
SELECT min(p.ts + p.dur, $ts + $dur) - max(p.ts, $ts) AS dur, ucpu, cpu, utid, upid, freq
FROM _cpu_run_piece p
WHERE p.ts < $ts + $dur AND p.ts + p.dur > $ts;

-- For each period that runs fall into, for how long they do. A run that crosses the end of a period has a row for each of its
-- periods. runs: a table with ts and dur.
CREATE PERFETTO MACRO _cpu_utilization_by_period(interval Expr, runs TableOrSubquery) RETURNS TableOrSubquery AS
(WITH RECURSIVE
    cut AS (
      SELECT ts / $interval * $interval AS period, ts, ts + dur AS end FROM $runs
      UNION ALL
      SELECT period + $interval, period + $interval, end FROM cut WHERE end > period + $interval)
  SELECT period AS ts,
      sum(min(end, period + $interval) - ts) / (cast_double!($interval) * (SELECT max(cpu) + 1 FROM sched)) AS utilization,
      sum(min(end, period + $interval) - ts) / cast_double!($interval) AS unnormalized_utilization
  FROM cut
  GROUP BY period
  ORDER BY period);
