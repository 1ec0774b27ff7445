#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each allocation in turn fails in sonda while it reads a trace: what it then writes with exit code 0 is complete.
# EVERY=0: each n; else n grows by EVERY percent.
. "$(dirname "$0")/lib.sh"
every=${EVERY:-10}
nth=$B/tests/system/nth_alloc
preload=$B/tests/system/preload/nth_alloc.so
[ -x "$nth" ] && [ -e "$preload" ] || { echo "$nth is not built" >&2; exit 77; }
nm -D "$B/bin/sonda" | grep -q __asan && { echo "a sanitizer has an allocator of its own" >&2; exit 77; }

# An incomplete output, and a signal of sonda, end in a signal of the shell, which nth_alloc reports with its n.
cat >"$TMP/complete" <<END
rm -f "$TMP/file"
LD_PRELOAD='$preload' NTH_ALLOC_FILE='$TMP/numbers' NTH_ALLOC_PROGRAM=sonda ${SHOWS:+NTH_ALLOC_SHOWS=1} "\$@" >"$TMP/out"
status=\$?
[ \$status -lt 128 ] || kill -ABRT \$\$
[ \$status != 0 ] || [ ! -e "$TMP/file" ] || mv "$TMP/file" "$TMP/out"
[ \$status != 0 ] || cmp "$TMP/out" "$TMP/whole" >&2 || kill -ABRT \$\$
exit \$status
END

sweep() { # NAME ARGUMENT...: of sonda, whose output is standard output or the file "$TMP/file"
  truncate -s 64 "$TMP/numbers"
  rm -f "$TMP/file"
  "$B/bin/sonda" "${@:2}" >"$TMP/whole" 2>"$TMP/err" && { [ ! -e "$TMP/file" ] || mv "$TMP/file" "$TMP/whole"; } && [ -s "$TMP/whole" ] &&
    "$nth" "$TMP/numbers" 0 "$every" -- sh "$TMP/complete" "$B/bin/sonda" "${@:2}" >"$TMP/log" 2>"$TMP/err"
  verdict "$1" $? "$TMP/log" "$TMP/err"
  tail -n 1 "$TMP/log" | sed 's/^/# /'
}

kernel=tests/data/traces/kernel_6.1.pftrace
generic=tests/data/traces/generic_events.pftrace
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/interop/sql_traces/tracks.txtpb >"$TMP/tracks" 2>"$TMP/err"
verdict "protoc encodes tracks" $? "$TMP/err"
sweep "sonda export --json of kernel events" export --json -o - "$generic"
sweep "sonda export --json of track events" export --json -o - "$TMP/tracks"
sweep "sonda export --folded sched" export --folded sched -o - "$kernel"
sweep "sonda export --folded slices" export --folded slices -o - "$TMP/tracks"
sweep "sonda export --parquet" export --parquet -o - "$kernel"
sweep "sonda export --csv" export --csv -o - "$kernel"
sweep "sonda export --sqlite" export --sqlite -o "$TMP/file" "$generic"
sweep "sonda report" report --json "$kernel"
sweep "sonda report slices" report --json slices "$TMP/tracks"
sweep "sonda report --html" report --html -o - "$generic"
for format in --json --csv ""; do
  sweep "sonda sql ${format:-as a table}" sql $format "$generic" "select e.ts, e.name, e.utid, a.key, a.display_value from ftrace_event e join args a using (arg_set_id)"
done
cat >"$TMP/states.txtpb" <<'TEXT'
packet { trusted_packet_sequence_id: 2 timestamp: 1 sequence_flags: 1 track_descriptor { uuid: 20 name: "link" state { } } }
packet { trusted_packet_sequence_id: 2 timestamp: 2 track_event { type: TYPE_STATE track_uuid: 20 name: "up" debug_annotations { name: "n" int_value: 1 } } }
packet { trusted_packet_sequence_id: 2 timestamp: 3 track_event { type: TYPE_STATE track_uuid: 20 name: "down" debug_annotations { name: "n" int_value: 2 } } }
packet { trusted_packet_sequence_id: 2 timestamp: 4 smaps_packet { pid: 5 packed_entries { string_table: "/a" string_table: "/b" size_kb: 1 size_kb: 2 } } }
TEXT
for name in gpu_jobs devices perf_samples session_facts callstacks legacy_flows states; do
  text=tests/interop/sql_traces/$name.txtpb
  [ -e "$text" ] || text=$TMP/$name.txtpb
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$text" >"$TMP/$name" 2>"$TMP/err"
  verdict "protoc encodes $name" $? "$TMP/err"
  sweep "sonda sql of $name" sql "$TMP/$name" "select * from slice" "select * from flow" "select * from counter" \
    "select * from perf_sample" "select * from metadata" "select * from track_event_callstacks" "select * from stack_profile_symbol" \
    "select * from profiler_smaps" "select * from process_memory_mappings" "select * from state"
done
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/data/stacks/waits.txtpb >"$TMP/waits" 2>"$TMP/err"
verdict "protoc encodes waits" $? "$TMP/err"
sweep "sonda report waits" report --json waits "$TMP/waits"
LC_ALL=C sweep "sonda report functions --tree" report --json functions --tree "$TMP/waits"
sweep "sonda export --folded waits" export --folded waits -o - "$TMP/waits"
sweep "sonda export --pprof" export --pprof -o - "$TMP/waits"
sweep "sonda cut" cut --to 50ms -o - "$generic"
echo "1..$N"
exit $BAD
