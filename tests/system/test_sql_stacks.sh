#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda sql on StackSamples (tests/data/stacks/samples.txtpb): the tables and views of trace_processor 58, which the
# interop tests cannot run; perf_sample and perf_session only have the samples of linux.perf.
. "$(dirname "$0")/../lib.sh"
needs_commands protoc
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/data/stacks/samples.txtpb >"$TMP/trace" || exit 1

# rows NAME EXPECTED STATEMENT: the rows as CSV, without the head.
rows() {
  "$SONDA" sql --csv "$TMP/trace" "$3" 2>"$TMP/err" | tail -n +2 | tr -d '\r' >"$TMP/got"
  printf '%s\n' "$2" | diff - "$TMP/got" >"$TMP/diff"
  verdict "$1" $? "$TMP/diff" "$TMP/err"
}

rows "samples of all profilers, by time; the source is that of the defaults at the sample" \
  "0,1100,linux.waits,0,0,1,0,0,
1,1200,linux.waits,1,,1,0,2,
2,1300,linux.waits,0,0,1,0,4,
3,1400,linux.waits,,,,0,,no rows
4,1500,,2,1,3,1,,
5,1600,,3,,2,1,5,
6,1700,linux.perf,0,1,4,2,6,
7,1800,linux.perf,0,2,,2,7,
8,1901,linux.wakers,,,5,0,," "select * from __intrinsic_profiler_sample"
rows "stack_sample has those with a call stack" '"0,1,2,4,5,6,8"' "select group_concat(id, ',') from stack_sample"
rows "a session is a sequence, with the source and the unit of its first sample" $'0,linux.waits,ns,\n1,,,\n2,linux.perf,,' \
  "select * from stack_sample_session"
rows "a task is a thread, a process, or a coroutine" $'10,11,\n10,,\n,20,worker\n,,pool' \
  "select pid, tid, a.name from stack_sample_task_context c left join process using (upid) left join thread using (utid)
   left join stack_sample_async_context a on a.id = async_context_id order by c.id"
rows "parents of coroutines are there; a cycle ends" $'0,,,\n1,pool,,0\n2,worker,fiber,1' "select * from stack_sample_async_context"
rows "modes: numbers of StackSample and of PerfSample differ" $'3,user\n1,kernel' \
  "select ucpu, cpu_mode from stack_sample_execution_context order by id"
rows "weights: dropped without a descriptor, and of a CPU that is not known; a follower keeps its place" \
  "0,blocked,ns,500.0
0,waits,count,2.0
1,odd,furlongs,7.0
1,odd,furlongs,4.0
2,misses,cache-misses,8.0
5,c,,6.0
6,cpu-clock,,5.0" \
  "select stack_sample_id, name, unit, value from stack_sample_counter c join stack_sample_counter_track t on t.id = track_id
   order by c.id"
rows "a track says of which session and CPU it is, and what it counts" \
  $'blocked,stack_sample_session_counter,time off,0,,1\nmisses,stack_sample_cpu_counter,,0,3,1' \
  "select name, type, description, session_id, cpu, is_timebase from stack_sample_counter_track where name in ('blocked', 'misses')"
rows "an inline stack" $'0,outer,o.c,5\n1,inner,,' \
  "select depth, f.name, source_file, line_number from stack_profile_callsite c join stack_profile_frame f on f.id = frame_id
   join stack_profile_mapping m on m.id = mapping join stack_profile_symbol using (symbol_set_id)
   where m.name = 'stack_sample_inline' and (f.name = 'outer' or parent_id is not null) order by depth"
rows "perf_sample has those of linux.perf, also without a call stack" $'1700,11,1,kernel,1\n1800,11,1,unknown,0' \
  "select ts, tid, cpu, cpu_mode, callsite_id is not null from perf_sample join thread using (utid)"
rows "perf_session has those of linux.perf" "1" "select count(*) from perf_session"
rows "unknown iids are errors" $'interned_data_tokenizer_errors,3\nstackprofile_invalid_callstack_id,1' \
  "select name, value from stats where value != 0"

# timebase_count is the value since the start: a sum of it would weigh late samples more.
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/counts" <<'TRACE' || exit 1
packet { trusted_packet_sequence_id: 4 sequence_flags: 1 timestamp: 1700
  trace_packet_defaults { perf_sample_defaults { timebase { frequency: 99 counter: SW_CPU_CLOCK } } }
  interned_data { function_names { iid: 1 str: "early" } function_names { iid: 2 str: "late" }
    mapping_paths { iid: 1 str: "usr/bin/app" } mappings { iid: 1 path_string_ids: 1 }
    frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 64 } frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 96 }
    callstacks { iid: 1 frame_ids: 1 } callstacks { iid: 2 frame_ids: 2 } }
  perf_sample { cpu: 1 pid: 10 tid: 11 cpu_mode: MODE_USER timebase_count: 100 callstack_iid: 1 } }
packet { trusted_packet_sequence_id: 4 sequence_flags: 2 timestamp: 1800
  perf_sample { cpu: 1 pid: 10 tid: 11 cpu_mode: MODE_USER timebase_count: 200 callstack_iid: 1 } }
packet { trusted_packet_sequence_id: 4 sequence_flags: 2 timestamp: 1900
  perf_sample { cpu: 1 pid: 10 tid: 11 cpu_mode: MODE_USER timebase_count: 300 callstack_iid: 2 } }
TRACE
"$SONDA" report functions --csv "$TMP/counts" 2>"$TMP/err" | cut -d, -f1,3,5 | tr -d '\r"' >"$TMP/got"
grep -qx '2,2,early' "$TMP/got" && grep -qx '1,1,late' "$TMP/got"
verdict "report functions counts samples" $? "$TMP/got" "$TMP/err"
"$SONDA" export --folded stacks "$TMP/counts" -o - >"$TMP/got" 2>"$TMP/err"
grep -q 'early 2$' "$TMP/got" && grep -q 'late 1$' "$TMP/got"
verdict "so do folded stacks" $? "$TMP/got" "$TMP/err"
exit $BAD
