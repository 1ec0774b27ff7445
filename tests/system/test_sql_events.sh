#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda sql on packets that trace_processor 55 does not read, as trace_processor 58 reads them: states, other sessions, the order
# of processes and threads, kinds of frames, packed memory mappings.
. "$(dirname "$0")/../lib.sh"
trace() { # makes a trace of the text on stdin, with a clock and a process with a thread
  {
    echo 'packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 3 timestamp: 1000 } } }
      packet { trusted_packet_sequence_id: 2 timestamp: 1 sequence_flags: 1 }
      packet { trusted_packet_sequence_id: 3 timestamp: 1 sequence_flags: 1 track_descriptor { uuid: 10 process { pid: 500 } } }
      packet { trusted_packet_sequence_id: 3 timestamp: 1 track_descriptor { uuid: 11 thread { pid: 500 tid: 501 } } }'
    cat
  } | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/trace" 2>"$TMP/err" ||
    { sed 's/^/#   /' "$TMP/err"; BAD=1; }
}

rows() { # NAME EXPECTED STATEMENT
  N=$((N + 1))
  if [ "$("$SONDA" sql --csv "$TMP/trace" "$3" 2>&1 | tr -d '\r')" = "$2" ]; then
    echo "ok $N - $1"
  else
    echo "not ok $N - $1"
    "$SONDA" sql --csv "$TMP/trace" "$3" 2>&1 | sed 's/^/#   /'
    BAD=1
  fi
}

trace <<'TEXT'
packet { trusted_packet_sequence_id: 3 track_descriptor { uuid: 20 parent_uuid: 10 name: "of process" state { } } }
packet { trusted_packet_sequence_id: 3 track_descriptor { uuid: 21 parent_uuid: 11 name: "of thread" state { } } }
packet { trusted_packet_sequence_id: 3 track_descriptor { uuid: 22 name: "global" state { } } }
packet { trusted_packet_sequence_id: 2 timestamp: 2000 track_event { type: TYPE_STATE track_uuid: 20 name: "on" debug_annotations { name: "a" int_value: 1 } debug_annotations { name: "b" int_value: 1 } } }
packet { trusted_packet_sequence_id: 2 timestamp: 2100 track_event { type: TYPE_STATE track_uuid: 20 name: "on" debug_annotations { name: "b" int_value: 2 } } }
packet { trusted_packet_sequence_id: 2 timestamp: 2200 track_event { type: TYPE_STATE track_uuid: 20 name: "off" } }
packet { trusted_packet_sequence_id: 2 timestamp: 2300 track_event { type: TYPE_STATE track_uuid: 20 } }
packet { trusted_packet_sequence_id: 2 timestamp: 2350 track_event { type: TYPE_STATE track_uuid: 20 } }
packet { trusted_packet_sequence_id: 2 timestamp: 2400 track_event { type: TYPE_STATE track_uuid: 21 name: "busy" } }
packet { trusted_packet_sequence_id: 2 timestamp: 2500 track_event { type: TYPE_STATE track_uuid: 22 name: "up" debug_annotations { name: "z" int_value: 3 } } }
packet { trusted_packet_sequence_id: 2 timestamp: 2600 track_event { type: TYPE_STATE track_uuid: 11 name: "no state track" } }
packet { trusted_packet_sequence_id: 2 timestamp: 2700 track_event { type: TYPE_STATE name: "no track" } }
TEXT
rows "a track has a state until the next one" 'track,ts,dur,value
of process,2000,200,on
of process,2200,100,off
of thread,2400,-1,busy
global,2500,-1,up' "select t.name as track, ts, dur, value from state s join state_track t on t.id = s.track_id order by s.id"
rows "an event with the state that a track has adds arguments" 'value,key,display_value
on,debug.a,1
on,debug.b,2
up,debug.z,3' "select value, key, display_value from state join args using (arg_set_id) order by state.id, args.id"
rows "state tracks belong to processes and threads" 'type,pid,tid
process_state_track_event,500,
thread_state_track_event,,501
global_state_track_event,,' "select s.type, p.pid, t.tid from state_track s left join process_state_track using (id) left join process p using (upid)
  left join thread_state_track x on x.id = s.id left join thread t using (utid) order by s.id"
rows "events without a state track are counted" 'name,value
track_event_parser_errors,1
track_event_state_missing_track_uuid,1' "select name, value from stats where value > 0 order by name"
rows "states count for the bounds of the trace" 'start_ts,end_ts
2000,2499' "select * from trace_bounds"

trace <<'TEXT'
packet { timestamp: 2100 concurrent_session_event { state: STATE_STARTED session_name: "nightly" session_id: 4 consumer_uid: 42 num_data_sources: 2 } }
packet { timestamp: 2000 concurrent_session_event { state: STATE_CONFIGURED session_name: "nightly" session_id: 4 consumer_uid: 42 num_data_sources: 2 } }
packet { timestamp: 2200 concurrent_session_event { state: STATE_CLONED_READ_ONLY session_id: 5 } }
packet { timestamp: 2300 concurrent_session_event { state: STATE_DISABLED session_id: 5 } }
packet { timestamp: 2400 concurrent_session_event { state: STATE_DISABLING_WAITING_STOP_ACKS session_name: "nightly" session_id: 4 } }
packet { timestamp: 2500 concurrent_session_event { session_id: 4 } }
packet { timestamp: 2600 machine_id: 7 concurrent_session_event { state: STATE_STARTED session_name: "nightly" session_id: 4 } }
TEXT
rows "other sessions have a track of their states" 'track,machine_id,ts,dur,value
nightly,0,2000,100,CONFIGURED
nightly,0,2100,300,STARTED
Session 5 (clone),0,2200,100,CLONED_READ_ONLY
Session 5 (clone),0,2300,0,DISABLED
nightly,0,2400,-1,DISABLING_WAITING_STOP_ACKS
nightly,1,2600,-1,STARTED' "select t.name as track, machine_id, ts, dur, value from state s join state_track t on t.id = s.track_id
  where type = 'concurrent_tracing_sessions' order by s.id"
rows "states of sessions have the user and the number of data sources" 'value,uid,sources
CONFIGURED,42,2
STARTED,42,2' "select value, extract_arg(arg_set_id, 'consumer_uid') as uid, extract_arg(arg_set_id, 'num_data_sources') as sources
  from state where arg_set_id is not null order by id"

trace <<'TEXT'
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 0 process_ordering: PROCESS_ORDERING_EXPLICIT } }
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 30 sibling_order_rank: 4 process { pid: 600 } } }
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 31 process { pid: 700 legacy_sort_index: -7 } } }
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 32 sibling_order_rank: 5 thread { pid: 600 tid: 601 } } }
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 33 thread { pid: 600 tid: 602 legacy_sort_index: 8 } } }
TEXT
rows "the rank of a process counts if the root orders processes" 'pid,rank
500,
600,4
700,-7' "select pid, extract_arg(arg_set_id, 'process_sort_index_hint') as rank from process where pid > 0 order by pid"
rows "the rank of a thread does not count without an order of threads" 'tid,rank
601,
602,8' "select tid, extract_arg(arg_set_id, 'thread_sort_index_hint') as rank from thread where tid in (601, 602) order by tid"
trace <<'TEXT'
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 32 sibling_order_rank: 5 thread { pid: 600 tid: 601 } } }
packet { trusted_packet_sequence_id: 3 timestamp: 2 track_descriptor { uuid: 0 thread_ordering: THREAD_ORDERING_EXPLICIT } }
TEXT
rows "the rank of a thread counts if the root orders threads, also later" 'rank
5' "select extract_arg(arg_set_id, 'thread_sort_index_hint') as rank from thread where tid = 601"

trace <<'TEXT'
packet { trusted_packet_sequence_id: 2 timestamp: 3000 interned_data { function_names { iid: 1 str: "a" } function_names { iid: 2 str: "b" } function_names { iid: 3 str: "c" }
  frames { iid: 1 function_name_id: 1 kind: KIND_INTERPRETED } frames { iid: 2 function_name_id: 2 kind_str: "wasm" } frames { iid: 3 function_name_id: 3 kind: KIND_UNKNOWN }
  callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 3 } }
  track_event { type: TYPE_INSTANT track_uuid: 11 name: "x" callstack_iid: 1 callstack_weight: 4 } }
TEXT
rows "a frame has its kind" 'name,type
a,interpreted
b,wasm
c,' "select name, type from stack_profile_frame order by id"

trace <<'TEXT'
packet { trusted_packet_sequence_id: 2 timestamp: 3000 smaps_packet { pid: 500 packed_entries { string_table: "" string_table: "/lib/x (deleted)" string_table: "[heap]"
  aggregate_count: 3 aggregate_count: 2 aggregate_count: 1 size_kb: 30 size_kb: 20 size_kb: 10 rss_kb: 3 rss_kb: 2 rss_kb: 1 } } }
packet { trusted_packet_sequence_id: 2 timestamp: 4000 smaps_packet { pid: 500 packed_entries { string_table: "a" string_table: "b"
  name_id: 1 name_id: 0 name_id: 1 name_id: 9 pss_kb: 5 pss_kb: 6 swap_pss_kb: 1 swap_pss_kb: 2 swap_pss_kb: 3 swap_pss_kb: 4 swap_pss_kb: 5 } } }
TEXT
rows "packed mappings are rows of process_memory_mappings" 'ts,pid,path,is_deleted,aggregate_count,size_kb,rss_kb,pss_kb,swap_pss_kb
3000,500,,0,3,30,3,,
3000,500,/lib/x,1,2,20,2,,
3000,500,[heap],0,1,10,1,,
4000,500,b,0,1,,,5,1
4000,500,a,0,1,,,6,2
4000,500,b,0,1,,,,3
4000,500,,0,1,,,,4' "select ts, pid, path, is_deleted, aggregate_count, size_kb, rss_kb, pss_kb, swap_pss_kb from process_memory_mappings
  join process using (upid) order by process_memory_mappings.id"

trace <<'TEXT'
packet { trusted_packet_sequence_id: 2 timestamp: 3000 track_event { type: TYPE_INSTANT track_uuid: 11 name: "before" } }
packet { trusted_packet_sequence_id: 2 timestamp: 4000 previous_packet_dropped: 1 packets_dropped: 7 sequence_flags: 1 }
packet { trusted_packet_sequence_id: 2 timestamp: 4000 track_event { type: TYPE_INSTANT track_uuid: 11 name: "after" } }
packet { trusted_packet_sequence_id: 4 timestamp: 4000 previous_packet_dropped: 1 packets_dropped: 9 sequence_flags: 1 }
packet { trusted_packet_sequence_id: 2 timestamp: 5000 previous_packet_dropped: 1 packets_dropped: 2 sequence_flags: 1 track_event { type: TYPE_INSTANT track_uuid: 11 name: "last" } }
packet { trusted_packet_sequence_id: 1 timestamp: 6000 trace_stats { buffer_stats { } writer_stats { sequence_id: 2 buffer: 0 } } }
TEXT
rows "packets that libsonda dropped are counted, beside the gaps" 'name,value
sonda_track_events_dropped,9
traced_buf_sequence_packet_loss,2' "select name, value from stats where name in ('sonda_track_events_dropped', 'traced_buf_sequence_packet_loss') order by name"

echo "1..$N"
exit $BAD
