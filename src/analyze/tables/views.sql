-- SPDX-License-Identifier: Apache-2.0
-- Views on the tables, by the names that scripts for trace_processor use.

CREATE TEMP VIEW sched_slice AS
  SELECT id, ts, dur, cpu, utid, end_state, priority, ucpu
  FROM sched;

CREATE TEMP VIEW raw AS
  SELECT *
  FROM ftrace_event;

CREATE TEMP VIEW track AS
  SELECT id, name, type, dimension_arg_set_id, parent_id, source_arg_set_id, machine_id,
      track_group_id
  FROM __intrinsic_track;

CREATE TEMP VIEW thread_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid
  FROM __intrinsic_track
  WHERE event_type = 'slice' AND utid IS NOT NULL;

CREATE TEMP VIEW process_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
  FROM __intrinsic_track
  WHERE event_type = 'slice' AND upid IS NOT NULL;

CREATE TEMP VIEW cpu_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, cpu
  FROM __intrinsic_track
  WHERE event_type = 'slice' AND cpu IS NOT NULL;

CREATE TEMP VIEW counter_track AS
  SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id,
      counter_unit AS unit, extract_arg(source_arg_set_id, 'description') AS description
  FROM __intrinsic_track
  WHERE event_type = 'counter';

CREATE TEMP VIEW cpu_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
      extract_arg(source_arg_set_id, 'description') AS description, cpu
  FROM __intrinsic_track
  WHERE event_type = 'counter' AND cpu IS NOT NULL;

CREATE TEMP VIEW process_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
      extract_arg(source_arg_set_id, 'description') AS description, upid
  FROM __intrinsic_track
  WHERE event_type = 'counter' AND upid IS NOT NULL;

CREATE TEMP VIEW thread_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
      extract_arg(source_arg_set_id, 'description') AS description, utid
  FROM __intrinsic_track
  WHERE event_type = 'counter' AND utid IS NOT NULL;

CREATE TEMP VIEW perf_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
      extract_arg(source_arg_set_id, 'description') AS description,
      extract_arg(dimension_arg_set_id, 'perf_session_id') AS perf_session_id, cpu,
      extract_arg(source_arg_set_id, 'is_timebase') AS is_timebase
  FROM __intrinsic_track
  WHERE type = 'perf_cpu_counter';

CREATE TEMP VIEW perf_session AS
  SELECT id, cmdline, id AS perf_session_id
  FROM __intrinsic_profiler_session
  WHERE source = 'linux.perf';

CREATE TEMP VIEW perf_sample AS
  SELECT s.id, s.ts, t.utid, c.cpu, coalesce(e.cpu_mode, 'unknown') AS cpu_mode, s.callsite_id,
      s.unwind_error, s.session_id AS perf_session_id
  FROM __intrinsic_profiler_sample s
  LEFT JOIN __intrinsic_profiler_task_context t ON t.id = s.task_context_id
  LEFT JOIN __intrinsic_profiler_execution_context e ON e.id = s.execution_context_id
  LEFT JOIN cpu c ON c.id = e.ucpu
  WHERE s.source = 'linux.perf';

-- The views stack_sample* only have samples with a call stack, and what these refer to.
CREATE TEMP VIEW stack_sample AS
  SELECT id, ts, source, task_context_id, execution_context_id, callsite_id, session_id
  FROM __intrinsic_profiler_sample
  WHERE callsite_id IS NOT NULL;

CREATE TEMP VIEW stack_sample_session AS
  SELECT id, source, timebase_unit, cmdline
  FROM __intrinsic_profiler_session
  WHERE id IN (SELECT session_id FROM stack_sample);

CREATE TEMP VIEW stack_sample_task_context AS
  SELECT id, upid, utid, async_context_id
  FROM __intrinsic_profiler_task_context
  WHERE id IN (SELECT task_context_id FROM stack_sample);

CREATE TEMP VIEW stack_sample_execution_context AS
  SELECT id, ucpu, cpu_mode
  FROM __intrinsic_profiler_execution_context
  WHERE id IN (SELECT execution_context_id FROM stack_sample);

CREATE TEMP VIEW stack_sample_async_context AS
  WITH RECURSIVE referenced(id) AS (
    SELECT async_context_id
    FROM stack_sample_task_context
    WHERE async_context_id IS NOT NULL
    UNION
    SELECT a.parent_id
    FROM referenced
    JOIN __intrinsic_profiler_async_context a USING (id)
    WHERE a.parent_id IS NOT NULL)
  SELECT id, name, kind, parent_id
  FROM __intrinsic_profiler_async_context
  WHERE id IN referenced;

CREATE TEMP VIEW stack_sample_counter AS
  SELECT c.id, s.id AS stack_sample_id, c.track_id, c.value
  FROM __intrinsic_profiler_sample s
  JOIN __intrinsic_profiler_counter_set v ON v.counter_set_id = s.counter_set_id
  JOIN counter c ON c.id = v.counter_id
  WHERE s.callsite_id IS NOT NULL;

CREATE TEMP VIEW stack_sample_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
      extract_arg(source_arg_set_id, 'description') AS description,
      coalesce(extract_arg(dimension_arg_set_id, 'session_id'),
      extract_arg(dimension_arg_set_id, 'perf_session_id')) AS session_id, cpu,
      extract_arg(source_arg_set_id, 'is_timebase') AS is_timebase
  FROM __intrinsic_track
  WHERE id IN (SELECT track_id FROM stack_sample_counter);

CREATE TEMP VIEW process_cgroup AS
  SELECT c.id, t.upid, c.ts, c.dur, c.cgroup_id
  FROM thread_cgroup c
  JOIN thread t USING (utid)
  WHERE t.is_main_thread;

CREATE TEMP VIEW counters AS
  SELECT c.*, t.name, t.counter_unit AS unit
  FROM counter c
  JOIN __intrinsic_track t ON t.id = c.track_id
  ORDER BY c.ts;

CREATE TEMP VIEW slice AS
  SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts,
      thread_dur, thread_instruction_count, thread_instruction_delta, category AS cat,
      id AS slice_id
  FROM __intrinsic_slice;

CREATE TEMP VIEW state AS
  SELECT *
  FROM __intrinsic_state;

CREATE TEMP VIEW state_track AS
  SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id
  FROM __intrinsic_track
  WHERE event_type = 'state';

CREATE TEMP VIEW process_state_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
  FROM __intrinsic_track
  WHERE event_type = 'state' AND upid IS NOT NULL;

CREATE TEMP VIEW thread_state_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid
  FROM __intrinsic_track
  WHERE event_type = 'state' AND utid IS NOT NULL;

CREATE TEMP VIEW track_event_callstacks AS
  SELECT *
  FROM __intrinsic_track_event_callstacks;

CREATE TEMP VIEW slices AS
  SELECT *
  FROM slice;

CREATE TEMP VIEW instant AS
  SELECT ts, track_id, name, arg_set_id
  FROM __intrinsic_slice
  WHERE dur = 0;

-- Code that V8 and other compilers describe, and samples of other profilers. These are empty, because
-- sonda does not read their packets: modules of Perfetto's library that join them work without their rows.
CREATE TEMP TABLE __intrinsic_jit_code(id, create_ts, estimated_delete_ts, utid, start_address, size,
  function_name, native_code_base64);
CREATE TEMP TABLE __intrinsic_jit_frame(id, jit_code_id, frame_id);
CREATE TEMP TABLE __intrinsic_v8_isolate(id, upid, internal_isolate_id,
  embedded_blob_code_start_address, embedded_blob_code_size, code_range_base_address,
  code_range_size, shared_code_range, embedded_blob_code_copy_start_address);
CREATE TEMP TABLE __intrinsic_v8_js_script(id, v8_isolate_id, internal_script_id, script_type, name,
  source);
CREATE TEMP TABLE __intrinsic_v8_wasm_script(id, v8_isolate_id, internal_script_id, url,
  wire_bytes_base64, source);
CREATE TEMP TABLE __intrinsic_v8_js_function(id, name, v8_js_script_id, is_toplevel, kind, line, col);
CREATE TEMP TABLE __intrinsic_v8_js_code(id, jit_code_id, v8_js_function_id, tier, bytecode_base64);
CREATE TEMP TABLE __intrinsic_v8_internal_code(id, jit_code_id, v8_isolate_id, function_name,
  code_type);
CREATE TEMP TABLE __intrinsic_v8_wasm_code(id, jit_code_id, v8_isolate_id, v8_wasm_script_id,
  function_name, tier, code_offset_in_module);
CREATE TEMP TABLE __intrinsic_v8_regexp_code(id, jit_code_id, v8_isolate_id, pattern);
CREATE TEMP TABLE cpu_profile_stack_sample(id, ts, callsite_id, utid, process_priority);
CREATE TEMP TABLE instruments_sample(id, ts, utid, cpu, callsite_id);
CREATE TEMP TABLE heap_profile_allocation(id, ts, upid, heap_name, callsite_id, count, size);
CREATE TEMP TABLE heap_graph_object(id, upid, graph_sample_ts, self_size, type_id, root_type);
