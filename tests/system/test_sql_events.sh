#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda sql on packets that trace_processor 55 does not read, as trace_processor 58 reads them: states.
set -u
cd "$(dirname "$0")/../.." || exit 2
SONDA=${BUILD:-build}/bin/sonda
[ -x "$SONDA" ] || { echo "$SONDA is not built" >&2; exit 77; }
N=0 BAD=0
TMP=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$TMP"' EXIT

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

echo "1..$N"
exit $BAD
