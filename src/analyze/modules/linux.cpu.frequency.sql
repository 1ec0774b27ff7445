-- SPDX-License-Identifier: Apache-2.0
-- Module linux.cpu.frequency of trace_processor's library: views with the same names and columns.

CREATE TEMP VIEW IF NOT EXISTS cpu_frequency_counters AS
  SELECT c.id, c.track_id, c.ts,
      lead(c.ts, 1, trace_end()) OVER (PARTITION BY c.track_id ORDER BY c.ts, c.id) - c.ts AS dur,
      CAST(c.value AS INTEGER) AS freq, k.cpu AS ucpu, k.cpu
  FROM counter c
  JOIN cpu_counter_track k ON k.id = c.track_id
  WHERE k.name = 'cpufreq';
