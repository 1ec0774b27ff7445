#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# sonda sql on tracks: tracks, slices, counters, flows and their arguments are trace_processor's, of packets made by hand
# and of the track events of the programs of examples/; of these packets also CPUs, samples
# and metadata. A trace_uuid that begins with zeros is a hash of the first bytes of a trace without one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
LIB=$(realpath "$B/lib")
[ -e "$LIB/libsonda.so" ] || { echo "libsonda.so is not built" >&2; exit 77; }

dir=$TMP/sql_tracks
mkdir "$dir"
use_sockets "$dir"

for text in tests/interop/sql_traces/*.txtpb; do
  name=$(basename "$text" .txtpb)
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$text" >"$dir/$name" 2>"$dir/log"
  verdict "protoc encodes $name" $? "$dir/log"
  equal "$name" "$dir/$name" "${track_tables[@]}" "${stack_tables[@]}" "select id, ts, name from ftrace_event order by id" \
    "select name, key_type, int_value, str_value, machine_id, trace_id from metadata
     where name not in ('trace_config_pbtxt', 'trace_size_bytes') and (name, substr(str_value, 1, 19)) is not
     ('trace_uuid', '00000000-0000-0000-') order by name, machine_id, int_value, str_value" \
    "select id, ucpu, cpu, cluster_id, processor, machine_id, capacity from cpu order by id" \
    "select c.id, a.key, a.value_type, a.display_value from cpu c join args a using (arg_set_id) order by c.id, a.id" \
    "select * from perf_sample order by id" "select * from perf_session" \
    "select id, name, type, machine_id, unit, perf_session_id, cpu, is_timebase from perf_counter_track order by id"
done

# trace_processor 55 skips StackSamples.
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/data/stacks/samples.txtpb >"$dir/samples" 2>"$dir/log"
verdict "protoc encodes StackSamples" $? "$dir/log"
equal "StackSamples beside samples of linux.perf" "$dir/samples" \
  "select ts, tid, cpu, cpu_mode, callsite_id is null as no_stack from perf_sample join thread using (utid) order by ts" \
  "select name, unit, cpu, is_timebase from perf_counter_track"

protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/data/stacks/waits.txtpb >"$dir/waits" 2>"$dir/log"
verdict "protoc encodes waits" $? "$dir/log"
equal "waits with the stacks of sleepers and wakers" "$dir/waits" \
  "select s.ts, s.dur, s.name, f.name as waits_in, g.name as ended_in from __intrinsic_track_event_callstacks c
   join slice s on s.id = c.slice_id left join stack_profile_callsite a on a.id = c.callsite_id
   left join stack_profile_frame f on f.id = a.frame_id left join stack_profile_callsite b on b.id = c.end_callsite_id
   left join stack_profile_frame g on g.id = b.frame_id order by s.ts, s.name, waits_in" \
  "select s.name, a.key, a.display_value from slice s join args a using (arg_set_id) order by s.ts, s.name, a.key" \
  "select name, value from stats where severity in ('error', 'data_loss') and value > 0 and name not glob 'sonda_*'"

# A field that the producer's own descriptor explains.
cat >"$dir/extra.proto" <<'PROTO'
syntax = "proto2";
package tests.extra;
import "trace/trace.proto";
import "trace/track_event/track_event.proto";
message Inner {
  enum Colour { NONE = 0; RED = 1; }
  optional Colour colour = 1;
  repeated sint32 numbers = 2;
  repeated Inner inner = 3;
  optional bytes raw = 4;
  optional float real = 5;
}
message Extra {
  extend perfetto.protos.TrackEvent {
    optional string made_up = 9900;
    repeated Inner more = 9901;
  }
}
PROTO
extend_track_event "$dir"
octal=$(od -An -v -to1 -w1 "$dir/extra.set" | tr -d '\n' | sed 's/ /\\/g')
protoc -I"$dir/protos" -Iprotos -I"$dir" --encode=perfetto.protos.Trace "$dir/extra.proto" >"$dir/extended" 2>"$dir/log" <<TEXT
packet { trusted_packet_sequence_id: 1 clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 3 timestamp: 1000 } } }
packet { trusted_packet_sequence_id: 1 extension_descriptor { extension_set: "$octal" } }
packet { trusted_packet_sequence_id: 2 timestamp: 2000 sequence_flags: 1 track_event { type: TYPE_INSTANT name: "x" track_uuid: 5
  [tests.extra.Extra.made_up]: "text"
  [tests.extra.Extra.more] { colour: RED numbers: -1 numbers: 7 inner { } inner { colour: NONE real: 1.5 } raw: "\001\002\003\004" } } }
TEXT
verdict "protoc encodes it" $? "$dir/log"
equal "a field that the trace describes" "$dir/extended" "${track_tables[@]}"

for example in thread_pool server counters; do
  gcc -O2 -Iinclude -o "$dir/$example" "examples/$example.c" -L"$LIB" -lsonda -Wl,-rpath,"$LIB" -pthread \
    >"$dir/log" 2>&1
  verdict "$example builds" $? "$dir/log"
done
start_service sonda "$dir"
for example in thread_pool server counters; do
  timeout 60 "$BIN/sonda" record --app '*' -o "$dir/$example.trace" -- "$dir/$example" >"$dir/log" 2>&1
  verdict "$example is recorded" $? "$dir/log"
  equal "$example" "$dir/$example.trace" "${track_tables[@]}"
done
exit $BAD
