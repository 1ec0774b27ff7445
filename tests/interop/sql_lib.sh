#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# For scripts that compare the tables of sonda sql with trace_processor's; sourced after lib.sh.

# equal NAME TRACE STATEMENT...: the rows of each statement are equal.
equal() {
  equal_to "$1" "$2" "${@:2}"
}

# equal_to NAME THEIRS OURS STATEMENT...: of two traces, which have the same packets.
equal_to() {
  local status
  query "$2" "${@:4}" >"$dir/theirs"
  "$BIN/sonda" sql --json "$3" "${@:4}" 2>"$dir/err" | awk '{ printf "%s", $0 } /^(\]|\[\])$/ { print "" }' >"$dir/ours"
  node "$HERE/compare_sql.mjs" "$dir/theirs" "$dir/ours" >"$dir/diff" 2>&1
  status=$?
  verdict "$1: every row is equal ($(tail -n 1 "$dir/diff"))" $status "$dir/diff"
}

# keep_parents TRACE: gives each process one parent, so that the tables of processes are equal.
keep_parents() {
  python3 "$HERE/keep_parents.py" "$BIN/sonda" "$1" >"$dir/log" 2>&1
  verdict "${1##*/}: a process has one parent" $? "$dir/log"
}

# Statements whose rows are equal; first those of what others refer to. Arguments are joined to what has them, since their ids are not equal. docs/reference/sql.md tells
# why the function that dropped a packet differs.
# shellcheck disable=SC2034 # for the scripts
kernel_tables=(
  "select utid, tid, name, start_ts, end_ts, upid, is_main_thread, is_idle, machine_id from thread order by utid"
  "select upid, pid, name, start_ts, end_ts, parent_upid, uid, android_appid, android_user_id, cmdline, machine_id
   from process order by upid"
  "select id, ts, dur, cpu, utid, end_state, priority, ucpu, ts_end from sched order by id"
  "select id, ts, dur, cpu, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu
   from thread_state order by id"
  "select id, ts, thread_state_id, irq_context, utid, waker_utid from spurious_sched_wakeup order by id"
  "select id, ts, name, cpu, utid, common_flags, arg_set_id is null as no_args from ftrace_event order by id"
  "select e.id as event, a.key, a.flat_key, a.value_type, a.int_value, a.string_value, a.real_value, a.display_value
   from ftrace_event e join args a using (arg_set_id) where (e.name, a.key) != ('kfree_skb', 'location') order by e.id, a.id"
  "select p.upid as process, a.key, a.value_type, a.int_value, a.string_value from process p
   join args a using (arg_set_id) order by p.upid, a.id"
  "select name, idx, severity, source, value from stats where value != 0 and name not in
   ('parse_trace_duration_ns', 'guess_trace_type_duration_ns', 'clock_sync_cache_miss') order by name, idx"
  "select name, key_type, int_value, str_value, machine_id, trace_id from metadata
   where name not in ('trace_uuid', 'trace_config_pbtxt', 'trace_size_bytes') order by name, int_value"
  "select id, ucpu, cpu, cluster_id, processor, machine_id, capacity from cpu order by id"
  "select id, raw_id, sysname, release, version, arch, num_cpus from machine order by id"
  "select * from clock_snapshot order by id"
  "select * from trace_bounds"
  "select s.ts, s.dur, s.category, s.name, s.depth, p.ts as parent_ts, p.name as parent, t.type, t.name as track, x.utid
   from slice s join track t on s.track_id = t.id join __intrinsic_track x on x.id = t.id left join slice p on p.id = s.parent_id order by s.ts, t.type, t.name, x.utid, s.id"
  "select s.ts, s.name, t.type, a.key, a.flat_key, a.value_type, a.display_value from slice s join track t on s.track_id = t.id
   join args a using (arg_set_id) order by s.ts, t.type, t.name, s.name, a.key, a.display_value"
  "select c.ts, c.value, t.type, t.name, t.unit, d.flat_key, d.value_type, d.display_value, a.key, a.display_value as arg
   from counter c join counter_track t on c.track_id = t.id
   left join args d on d.arg_set_id = t.dimension_arg_set_id left join args a on a.arg_set_id = c.arg_set_id order by c.ts, t.type, t.name, d.flat_key, d.display_value, a.key, c.value"
)

# Tables of track events, by the rows' numbers: these are equal, too, except for sets of arguments.
# shellcheck disable=SC2034 # for the scripts
track_tables=(
  "select id, name, type, parent_id, machine_id, track_group_id from track order by id"
  "select id, event_type, counter_unit, utid, upid from __intrinsic_track order by id"
  "select t.id as track, a.key, a.value_type, a.display_value from track t
   join args a on a.arg_set_id = t.dimension_arg_set_id order by t.id, a.id"
  "select t.id as track, a.key, a.flat_key, a.value_type, a.display_value from track t
   join args a on a.arg_set_id = t.source_arg_set_id where t.type not glob 'process_memory*' order by t.id, a.id"
  "select id, ts, dur, track_id, category, name, depth, parent_id, thread_ts, thread_dur, thread_instruction_count,
   thread_instruction_delta, cat, slice_id, arg_set_id is null as no_args from slice order by id"
  "select s.id as slice, a.key, a.flat_key, a.value_type, a.int_value, a.string_value, a.real_value from slice s
   join args a using (arg_set_id) order by s.id, a.id"
  "select id, ts, track_id, value from counter order by id"
  "select c.id as counter, a.key, a.flat_key, a.value_type, a.display_value from counter c
   join args a using (arg_set_id) order by c.id, a.id"
  "select id, slice_out, slice_in, trace_id from flow order by id"
  "select id, name, type, parent_id, utid from thread_track order by id"
  "select id, name, type, parent_id, upid from process_track order by id"
  "select id, name, type, unit, utid from thread_counter_track order by id"
  "select id, name, type, unit, upid from process_counter_track order by id"
  "select ts, track_id, name from instant order by ts, track_id, name"
  "select utid, tid, name, start_ts, end_ts, upid, is_main_thread, is_idle from thread order by utid"
  "select upid, pid, name, start_ts, end_ts, parent_upid, cmdline from process order by upid"
  "select p.upid as process, a.key, a.flat_key, a.value_type, a.display_value from process p
   join args a using (arg_set_id) order by p.upid, a.id"
  "select name, idx, severity, source, value from stats where value != 0 and name not in
   ('parse_trace_duration_ns', 'guess_trace_type_duration_ns', 'clock_sync_cache_miss') order by name, idx"
  "select * from trace_bounds"
)

# Tables of call stacks and memory mappings.
# shellcheck disable=SC2034 # for the scripts
stack_tables=(
  "select * from __intrinsic_track_event_callstacks order by id"
  "select * from stack_profile_callsite order by id"
  "select id, name, mapping, rel_pc, symbol_set_id, deobfuscated_name from stack_profile_frame order by id"
  "select * from stack_profile_symbol order by id"
  "select * from stack_profile_mapping order by id"
  "select * from profiler_smaps order by id"
)
