-- SPDX-License-Identifier: Apache-2.0
-- Module viz.summary.counters of trace_processor's library: the tracks that have values of counters.

CREATE PERFETTO TABLE _counter_track_summary AS
SELECT DISTINCT track_id AS id FROM counter;
