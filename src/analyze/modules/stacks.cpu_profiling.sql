-- SPDX-License-Identifier: Apache-2.0
-- Module stacks.cpu_profiling of trace_processor's library: samples of the code that ran, and the tree of their call stacks.

CREATE PERFETTO TABLE cpu_profiling_samples(
  id LONG, ts TIMESTAMP, utid JOINID(thread.id), ucpu LONG, callsite_id JOINID(stack_profile_callsite.id), tid LONG,
  thread_name STRING, cpu LONG) AS
SELECT row_number() OVER (ORDER BY p.ts, p.id) AS id, p.ts, p.utid, p.cpu AS ucpu, p.callsite_id, t.tid,
    t.name AS thread_name, p.cpu
FROM perf_sample p
JOIN thread t ON t.utid = p.utid
ORDER BY p.ts, p.id;

-- The functions of each call site: those of its symbols, of which all but the outermost one are inlined, or else that of its frame.
CREATE PERFETTO TABLE _profiled_function AS
SELECT row_number() OVER (ORDER BY c.depth, c.id, s.id DESC) - 1 AS id, c.id AS callsite_id, c.parent_id AS parent_callsite_id,
    coalesce(s.name, f.deobfuscated_name, nullif(f.name, ''), '[Unknown]') AS name, m.name AS mapping_name,
    s.source_file, s.line_number,
    row_number() OVER (PARTITION BY c.id ORDER BY s.id DESC) AS nth,
    row_number() OVER (PARTITION BY c.id ORDER BY s.id) = 1 AS is_innermost
FROM stack_profile_callsite c
JOIN stack_profile_frame f ON f.id = c.frame_id
LEFT JOIN stack_profile_mapping m ON m.id = f.mapping
LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id;
CREATE PERFETTO INDEX _profiled_function_by_callsite ON _profiled_function(callsite_id);

CREATE PERFETTO TABLE _profiled_tree AS
SELECT f.id, coalesce(inliner.id, parent.id) AS parent_id, f.name, f.mapping_name, f.source_file, f.line_number,
    iif(f.is_innermost, coalesce(n.samples, 0), 0) AS self_count
FROM _profiled_function f
LEFT JOIN _profiled_function inliner ON inliner.callsite_id = f.callsite_id AND inliner.nth = f.nth - 1
LEFT JOIN _profiled_function parent ON parent.callsite_id = f.parent_callsite_id AND parent.is_innermost
LEFT JOIN (SELECT callsite_id, count() AS samples FROM cpu_profiling_samples GROUP BY callsite_id) n
  ON n.callsite_id = f.callsite_id;

-- self_count: the samples that were taken in the function itself; cumulative_count: also those in what it called.
CREATE PERFETTO TABLE cpu_profiling_summary_tree(
  id LONG, parent_id LONG, name STRING, mapping_name STRING, source_file STRING, line_number LONG, self_count LONG,
  cumulative_count LONG) AS
WITH RECURSIVE part(id, samples) AS (
  SELECT id, self_count FROM _profiled_tree WHERE self_count > 0
  UNION ALL
  SELECT t.parent_id, p.samples FROM part p JOIN _profiled_tree t ON t.id = p.id WHERE t.parent_id IS NOT NULL)
SELECT t.id, t.parent_id, t.name, t.mapping_name, t.source_file, t.line_number, t.self_count, c.samples AS cumulative_count
FROM (SELECT id, sum(samples) AS samples FROM part GROUP BY id) c
JOIN _profiled_tree t ON t.id = c.id
ORDER BY t.id;
