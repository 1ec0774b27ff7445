#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda sql: rows that trace_processor 55 does not have, so that tests/interop cannot compare them.
. "$(dirname "$0")/../lib.sh"
# rows NAME EXPECTED STATEMENT: of the trace that is text on the standard input. EXPECTED is CSV without the head.
rows() {
  local status=1
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/trace" 2>"$TMP/err" &&
    "$SONDA" sql --csv "$TMP/trace" "$3" 2>"$TMP/err" | tr -d '\r' | tail -n +2 >"$TMP/out" &&
    [ "$(<"$TMP/out")" = "$2" ] && status=0
  N=$((N + 1))
  if [ $status = 0 ]; then
    echo "ok $N - $1"
  else
    echo "not ok $N - $1"
    cat "$TMP/out" "$TMP/err" | sed 's/^/#   /'
    BAD=1
  fi
}

rows "a counter track has its parent" "group,value" \
  "select p.name, c.name from counter_track c join track p on p.id = c.parent_id" <<'TEXT'
packet { trusted_packet_sequence_id: 2 sequence_flags: 1 track_descriptor { uuid: 1 name: "root" } }
packet { trusted_packet_sequence_id: 2 track_descriptor { uuid: 2 parent_uuid: 1 name: "group" } }
packet { trusted_packet_sequence_id: 2 track_descriptor { uuid: 3 parent_uuid: 2 name: "value" counter { } } }
packet { trusted_packet_sequence_id: 2 timestamp: 2000 track_event { type: TYPE_COUNTER track_uuid: 3 counter_value: 3 } }
TEXT

rows "a CPU has its features" "1,cpu_features.mte3,bool,true
1,cpu_features.raw_bitmap,uint,6" \
  "select cpu, key, value_type, display_value from cpu join args using (arg_set_id) order by args.id" <<'TEXT'
packet { trusted_packet_sequence_id: 1 timestamp: 1000 cpu_info { cpus { processor: "a" } cpus { processor: "b" features: 6 } } }
TEXT

rows "a process that gets another parent is the same process" "500,late,1,500
1,,," \
  "select p.pid, p.name, q.pid, t.tid from process p left join process q on q.upid = p.parent_upid
   left join thread t on t.upid = p.upid and t.tid = 500 where p.pid in (1, 500) order by 1 desc" <<'TEXT'
packet { trusted_packet_sequence_id: 1 timestamp: 10 process_tree { processes { pid: 500 ppid: 1 cmdline: "early" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 20 process_tree { processes { pid: 500 ppid: 7 cmdline: "late" } } }
TEXT

in_namespace() { # TIME_OF_DESCRIPTORS
  cat <<TEXT
packet { trusted_packet_sequence_id: 7 timestamp: $1 trusted_pid: 100 sequence_flags: 1
  track_descriptor { uuid: 77 parent_uuid: 76 thread { pid: 1 tid: 2 thread_name: "worker" } } }
packet { trusted_packet_sequence_id: 7 timestamp: $1 trusted_pid: 100 sequence_flags: 2
  track_descriptor { uuid: 76 process { pid: 1 process_name: "own" } } }
packet { trusted_packet_sequence_id: 7 timestamp: $1 trusted_pid: 100 sequence_flags: 2
  track_descriptor { uuid: 78 parent_uuid: 76 thread { pid: 1 tid: 3 } } }
packet { trusted_packet_sequence_id: 7 timestamp: 2500 trusted_pid: 100 sequence_flags: 2
  track_event { type: TYPE_INSTANT name: "x" track_uuid: 77 } }
packet { trusted_packet_sequence_id: 7 timestamp: 2500 trusted_pid: 100 sequence_flags: 2
  track_event { type: TYPE_INSTANT name: "y" track_uuid: 78 } }
packet { trusted_packet_sequence_id: 8 timestamp: $1 trusted_pid: 100 sequence_flags: 1
  thread_descriptor { pid: 1 tid: 2 } }
packet { trusted_packet_sequence_id: 8 timestamp: 2600 trusted_pid: 100 sequence_flags: 2
  track_event { type: TYPE_INSTANT name: "z" } }
packet { trusted_packet_sequence_id: 9 timestamp: $1 trusted_pid: 102 sequence_flags: 1
  track_descriptor { uuid: 79 thread { pid: 1 tid: 2 } } }
packet { trusted_packet_sequence_id: 9 timestamp: 2700 trusted_pid: 102 sequence_flags: 2
  track_event { type: TYPE_INSTANT name: "not in a namespace" track_uuid: 79 } }
packet { trusted_packet_sequence_id: 6 timestamp: 2000 process_tree {
  processes { pid: 100 ppid: 50 cmdline: "program" nspid: 30 nspid: 1 }
  threads { tid: 100 tgid: 100 nstid: 30 nstid: 1 }
  threads { tid: 101 tgid: 100 nstid: 31 nstid: 2 }
  threads { tid: 102 tgid: 102 } } }
TEXT
}
for at in 1000 2100; do
  rows "ids of a pid namespace are translated, descriptors at $at" "x,101,worker,100,program
y,-3,,100,program
z,101,worker,100,program
not in a namespace,2,,1," \
    "select s.name, t.tid, t.name, p.pid, p.name from slice s join thread_track k on k.id = s.track_id
     join thread t using (utid) join process p using (upid) order by s.id" < <(in_namespace $at)
done

in_two_sessions() {
  cat <<'TEXT'
packet { trusted_packet_sequence_id: 1 timestamp: 90 service_event { tracing_started: true } }
packet { trusted_packet_sequence_id: 2 ftrace_events { cpu: 0 compact_sched { intern_table: "a" intern_table: "b"
  switch_timestamp: 100 switch_timestamp: 10 switch_timestamp: 10 switch_prev_state: 1 switch_prev_state: 1 switch_prev_state: 0
  switch_next_pid: 5 switch_next_pid: 6 switch_next_pid: 5 switch_next_prio: 120 switch_next_prio: 120 switch_next_prio: 120
  switch_next_comm_index: 0 switch_next_comm_index: 1 switch_next_comm_index: 0 } } }
packet { trusted_packet_sequence_id: 2 ftrace_events { cpu: 1 event { timestamp: 150 pid: 0 sched_waking { comm: "w" pid: 7 } } } }
packet { trusted_packet_sequence_id: 1 timestamp: 900 service_event { next_session_started: true } }
packet { trusted_packet_sequence_id: 3 ftrace_events { cpu: 0 compact_sched { intern_table: "b" intern_table: "a"
  switch_timestamp: 1000 switch_timestamp: 10 switch_timestamp: 10 switch_prev_state: 1 switch_prev_state: 1 switch_prev_state: 1
  switch_next_pid: 6 switch_next_pid: 5 switch_next_pid: 6 switch_next_prio: 120 switch_next_prio: 120 switch_next_prio: 120
  switch_next_comm_index: 0 switch_next_comm_index: 1 switch_next_comm_index: 0 } } }
TEXT
}
rows "no thread runs from one session of the recorder to the next" "110,6,10
120,5,30
1010,5,10
1020,6,-1" "select ts, tid, dur from sched join thread using (utid)" < <(in_two_sessions)
rows "and none waits so long" "110,5,S,10
110,6,Running,10
120,6,R,30
120,5,Running,30
150,7,R,0
1010,6,S,10
1010,5,Running,10
1020,5,S,-1
1020,6,Running,-1" "select ts, tid, state, dur from thread_state s join thread using (utid) order by ts, s.id" < <(in_two_sessions)

rows "the main thread of a kworker has no work in its name" "9,kworker/0:1
10,kworker/1:2-x
11,kworker/0:3-y
12,irq/5-eth0" \
  "select tid, name from thread where tid >= 9 order by tid" <<'TEXT'
packet { trusted_packet_sequence_id: 1 timestamp: 10 process_tree {
  processes { pid: 9 ppid: 2 cmdline: "kworker/0:1-events" }
  processes { pid: 10 ppid: 1 cmdline: "kworker/1:2-x" }
  processes { pid: 12 ppid: 2 cmdline: "irq/5-eth0" }
  threads { tid: 9 tgid: 9 name: "kworker/0:1-events" }
  threads { tid: 10 tgid: 10 name: "kworker/1:2-x" }
  threads { tid: 11 tgid: 9 name: "kworker/0:3-y" }
  threads { tid: 12 tgid: 12 name: "irq/5-eth0" } } }
TEXT

rows "a file of sondad is flushed without a period in the config" "0" \
  "select value from stats where name = 'config_write_into_file_no_flush'" <<'TEXT'
packet { trusted_packet_sequence_id: 1 timestamp: 1000 trace_config { write_into_file: true } }
packet { trusted_packet_sequence_id: 1 timestamp: 1001 system_info { tracing_service_version: "sondad 0.1" } }
TEXT
exit $BAD
