#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# A producer of track events that knows nothing but the protocol, Perfetto's command line, and our service: all slices are
# in trace_processor, also of packets that are cut in two at each chunk's end, from memory, from a clone, and from a file.
# A field that only the producer knows has a name there, since sondad was given its descriptor.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
TRACK_EVENTS=$B/tests/interop/track_events
needs_built "$TRACK_EVENTS"

dir=$TMP/tracks
mkdir "$dir"
use_sockets "$dir"
cat >"$dir/extra.proto" <<'PROTO'
syntax = "proto2";
package tests.extra;
import "trace/track_event/track_event.proto";
message Extra {
  extend perfetto.protos.TrackEvent {
    optional string made_up = 9900;
  }
}
PROTO
extend_track_event "$dir"
gzip -k "$dir/extra.set"

good() { # NAME TRACE SLICES
  query "$2" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
    "select count() as n from slice where name glob 'work *' and dur >= 0" \
    "select count() as n from slice s join slice p on s.parent_id = p.id where s.name = 'inner' and p.name glob 'work *'" \
    "select count(distinct track_id) as n from slice join track on track_id = track.id where track.name = 'line'" >"$dir/answers"
  printf '[]\n[{"n":%d}]\n[{"n":%d}]\n[{"n":1}]\n' "$3" "$3" | diff - "$dir/answers" >"$dir/diff"
  verdict "$1: every slice, nested, on its track" $? "$dir/diff"
}
extra() { # TRACE
  query "$1" "select count() as n from slice s join args using (arg_set_id)
    where args.key glob '*made_up' and args.string_value = replace(s.name, 'work', 'extra')"
}

start_daemon TRACED_NOTIFY_FD "$dir/service.log" "$BIN/sondad" --output-dir "$dir" --extension-descriptors "$dir/extra.set.gz" &&
  start_daemon TRACED_PROBES_NOTIFY_FD "$dir/producer.log" "$TRACK_EVENTS" 500
verdict "sondad and a producer of nothing but the protocol start" $? "$dir/service.log"
cat >"$dir/config" <<CONFIG
buffers { size_kb: 4096 }
data_sources { config { name: "track_event" } }
duration_ms: 1000
CONFIG
record perfetto "$dir/config" "$dir/trace" "$dir/log"
verdict "perfetto records it" $? "$dir/log"
good "from memory" "$dir/trace" 500
equal "sonda sql" "$dir/trace" "${track_tables[@]}"
extra "$dir/trace" >"$dir/answers"
grep -qx '\[{"n":500}\]' "$dir/answers"
verdict "a field that others have added has its name and value" $? "$dir/answers"

start_daemon EVENT_CASES_NOTIFY_FD "$dir/cases.log" "$B/tests/library/event_cases"
record perfetto "$dir/config" "$dir/cases" "$dir/log"
query "$dir/cases" "select args.string_value as v from slice s join args using (arg_set_id)
  where s.name = 'extended' and args.key glob '*made_up'" >"$dir/answers"
grep -qx '\[{"v":"made up"}\]' "$dir/answers"
verdict "a field that a program adds with libsonda has its name and value" $? "$dir/answers"

echo 'write_into_file: true file_write_period_ms: 100 flush_period_ms: 1000' >>"$dir/config"
record perfetto "$dir/config" "$dir/written" "$dir/log"
good "from a file" "$dir/written" 500
sed -i 's|^duration.*|unique_session_name: "t"|' "$dir/config"
"$BIN/sonda" record --detach t -c <(sed "s|write_into_file|output_path: \"$dir/long\" &|" "$dir/config") >"$dir/log" 2>&1
verdict "sonda record --detach" $? "$dir/log"
timeout 60 "$PEERS/run" perfetto --clone-by-name t -o "$dir/clone" >"$dir/log" 2>&1
good "from a clone" "$dir/clone" 500
extra "$dir/clone" >"$dir/answers"
grep -qx '\[{"n":500}\]' "$dir/answers"
verdict "the clone has the descriptor, too" $? "$dir/answers"
"$BIN/sonda" stop -q t >"$dir/log" 2>&1
good "to its end" "$dir/long" 500
exit $BAD
