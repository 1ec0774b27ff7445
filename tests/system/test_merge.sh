#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda merge: traces of two machines on the time of the one that booted first, each with its own sequences, names and
# statistics; traces of one machine; the archive; mistakes.
. "$(dirname "$0")/../lib.sh"
details() { cat "$TMP/out" "$TMP/err"; }
protos=$PWD/protos
cd "$TMP" || exit 2

fails() { # NAME CODE TEXT ARGUMENT...
  "$SONDA" merge "${@:4}" >"$TMP/out" 2>"$TMP/err" </dev/null
  [ $? = "$2" ] && grep -q -- "$3" "$TMP/err"
  verdict "$1" $?
}
ask() { # TRACE SQL
  "$SONDA" sql --csv "$1" "$2" 2>"$TMP/err" | tr -d '\r' | tail -n +2 >"$TMP/out"
}
encode() { # FILE
  protoc -I"$protos" --encode=perfetto.protos.Trace "$protos/trace/trace.proto" >"$1" 2>"$TMP/err"
}
# A thread of the same pid, tid, sequence and track on each machine.
machine() { # BOOT_SECONDS REAL_SECONDS NAME MORE
  cat <<END
packet { trusted_packet_sequence_id: 1 clock_snapshot { primary_trace_clock: ${5:-6} clocks { clock_id: 6 timestamp: ${1}000000000 } clocks { clock_id: 1 timestamp: ${2}000000000 } } }
packet { trusted_packet_sequence_id: 1 timestamp: ${1}000000000 service_event { tracing_started: true } }
packet { trusted_packet_sequence_id: 1 trace_config { unique_session_name: "of $3" } }
packet { trusted_packet_sequence_id: 1 system_info { utsname { release: "$3" machine: "x86_64" } } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 1 timestamp: ${1}100000000 interned_data { event_names { iid: 1 name: "slice of $3" } }
  track_descriptor { uuid: 5 thread { pid: 20 tid: 20 thread_name: "thread of $3" } } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: ${1}200000000 track_event { type: 1 track_uuid: 5 name_iid: 1 } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: ${1}300000000 track_event { type: 2 track_uuid: 5 } }
packet { trusted_packet_sequence_id: 1 timestamp: ${1}400000000 service_event { all_data_sources_flushed: true } }
packet { trusted_packet_sequence_id: 1 trace_stats { buffer_stats { bytes_written: 1 } invalid_packets: 1 } }
packet { trusted_packet_sequence_id: 1 trace_stats { buffer_stats { bytes_written: ${4} buffer_size: 4096 } producers_connected: 3 invalid_packets: $4 } }
END
}
machine 50 1000 early 700 | encode early.pf && machine 7 1003 late 70 | encode late.pf
verdict "two traces" $?

# ---- two machines

"$SONDA" merge -o both.pf late.pf early.pf >out 2>err
verdict "a merged trace" $?
ask both.pf "select s.name, t.name, s.ts, s.dur, p.machine_id from slice s join thread_track k on k.id = s.track_id join thread t using (utid)
  join process p using (upid) order by s.ts"
printf '%s\n' 'slice of early,thread of early,50200000000,100000000,0' 'slice of late,thread of late,53200000000,100000000,1' | diff - out >err
verdict "  has the events of both on the clock of the machine that booted first" $?
ask both.pf "select id, raw_id, release from machine order by id"
printf '%s\n' 0,0,early 1,1,late | diff - out >err
verdict "  has both machines" $?
ask both.pf "select idx, value from stats where name = 'traced_buf_bytes_written' order by idx"
printf '%s\n' 0,700 1,70 | diff - out >err
verdict "  has the statistics of the buffers of both" $?
"$SONDA" info both.pf >out 2>err && grep -q 'invalid packets: 770' out
verdict "  and the sums of their losses" $?
grep -q 'machine  early: .*early' out && grep -q 'machine  1 (late): .*late' out
verdict "  whose summary names both" $?

# ---- one machine

machine 60 1010 early 5 | encode again.pf
"$SONDA" merge -o one.pf m=early.pf m=again.pf >out 2>err
verdict "two traces of one machine" $?
ask one.pf "select count(*), count(distinct upid), min(ts), max(ts) from slice s join thread_track k on k.id = s.track_id join thread using (utid)"
[ "$(cat out)" = 2,1,50200000000,60200000000 ]
verdict "  have one process with the slices of both" $?
fails "a machine that was booted in between" 1 "'m' rebooted between" -o no.pf m=early.pf m=late.pf

# ---- the archive

"$SONDA" merge -o all.tar web=late.pf "d\"b=early.pf" >out 2>err && tar -xf all.tar && cmp 00-late.pf late.pf && cmp 01-early.pf early.pf &&
  python3 - <<'END' >out 2>&1
import json
m = json.load(open("perfetto_manifest.json"))["perfetto_manifest"]
assert m == {"version": 1, "files": [{"path": "00-late.pf", "machine": {"name": "web"}}, {"path": "01-early.pf", "machine": {"name": 'd"b'}}]}, m
END
verdict "an archive has the traces as they are, and which machine each is of" $?

# ---- mistakes

fails "one file" 2 'at least two files' -o no.pf early.pf
fails "no output" 2 'no output file' early.pf late.pf
mkdir other && cp late.pf other/early.pf
fails "two files of one name" 2 "two files have the machine name 'early'" -o no.pf early.pf other/early.pf
fails "a name without a file" 2 'expected MACHINE=FILE' -o no.pf web= late.pf
fails "an output that is an input" 2 'is one of the input files' -o late.pf early.pf late.pf
fails "an output that exists" 1 'replace it with --force' -o both.pf early.pf late.pf
echo text >text
fails "no trace" 1 'not a Perfetto trace' -o no.pf early.pf text
echo 'packet { trusted_packet_sequence_id: 1 timestamp: 5 track_event { type: 3 } }' | encode none.pf
fails "no clock snapshot" 1 'has no clock snapshot' -o no.pf early.pf none.pf
machine 8 1004 other 1 3 | encode mono.pf
fails "another trace clock" 1 'not in CLOCK_BOOTTIME' -o no.pf early.pf mono.pf
if "$SONDA" merge -o - early.pf late.pf >/dev/full 2>err; then false; else grep -q 'No space left' err; fi
verdict "a full disk" $?
[ ! -e no.pf ]
verdict "nothing is left of what failed" $?
exit $BAD
