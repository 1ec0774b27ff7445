#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda info: what a trace consists of. The summary before it is that of sonda record (tests/root/test_ends.sh).
. "$(dirname "$0")/../lib.sh"
details() { cat "$TMP/out" "$TMP/err"; }
TRACE=$PWD/tests/data/traces/ring_losses.pftrace

shows() { # NAME REGEX: in the last output
  grep -qE -- "$2" "$TMP/out"
  verdict "$1" $?
}

"$SONDA" info "$TRACE" >"$TMP/out" 2>"$TMP/err"
verdict "a recording" $?
shows "the machine" '^  machine  unknown system$'
shows "the config with its buffers" '^  config   .*buffer 0 of 4 MiB'
shows "the data sources" '^  sources  linux.ftrace'
shows "what went through the buffer" '^  buffer   0: 64 KiB written, size 4 MiB$'
shows "kernel events by name, with their share" '^sched_switch +131 +1011 B +4.2%$'
shows "losses in words" '^  lost     kernel rings: 24,275 events'

"$SONDA" info --json "$TRACE" >"$TMP/out" 2>"$TMP/err"
python3 - "$TMP/out" "$("$SONDA" sql --csv "$TRACE" "select name || '=' || count(*) from ftrace_event group by name" | tr -d '\r' | tail -n +2)" <<'END' >"$TMP/err" 2>&1
import json, sys
d = json.load(open(sys.argv[1]))
rows = {r["name"]: r["count"] for r in d["contents"]}
events = dict(line.rsplit("=", 1) for line in sys.argv[2].split("\n"))
# sonda sql skips the first switch of each CPU; the trace describes read_msr itself.
for name, count in events.items():
    assert rows[name] == int(count) + (2 if name == "sched_switch" else 0), (name, count, rows[name])
assert d["buffers"][0]["size"] == 4 << 20 and d["buffers"][0]["bytes_overwritten"] == 0
assert {"name": "linux.ftrace"} in d["data_sources"]
assert [r["bytes"] for r in d["contents"]] == sorted((r["bytes"] for r in d["contents"]), reverse=True)
END
verdict "the numbers of events are those of sonda sql" $?

protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/machines" 2>"$TMP/err" <<'END'
packet { trusted_packet_sequence_id: 1 system_info { utsname { sysname: "Linux" release: "6.1.0" machine: "x86_64" } num_cpus: 8 } }
packet { trusted_packet_sequence_id: 2 machine_id: 77 system_info { utsname { sysname: "Linux" release: "5.10\033[31m" machine: "aarch64" } num_cpus: 1 } }
packet { trusted_packet_sequence_id: 3 timestamp: 5 track_event { type: 3 name: "x" } }
packet { trusted_packet_sequence_id: 3 timestamp: 6 track_event { type: 3 name: "y" } }
packet { trusted_packet_sequence_id: 4 ftrace_events { cpu: 0 event { timestamp: 7 pid: 1 print { buf: "a" } }
  compact_sched { intern_table: "x" switch_timestamp: 10 switch_timestamp: 5 switch_prev_state: 1 switch_prev_state: 1 switch_next_pid: 3 switch_next_pid: 4
    switch_next_prio: 120 switch_next_prio: 120 switch_next_comm_index: 0 switch_next_comm_index: 0 } } }
END
verdict "protoc encodes a trace" $?
"$SONDA" info "$TMP/machines" >"$TMP/out" 2>"$TMP/err"
shows "each machine" '^  machine  Linux 6.1.0 x86_64, 8 CPUs$'
shows "a name of another machine is printed without control characters" '^  machine  77: Linux 5\.10\?\[31m aarch64, 1 CPU$'
shows "packets by kind" '^track_event +2 '
shows "columns of the scheduler are events" '^sched_switch +2 '
shows "events of the kernel" '^print +1 '

# Tracing from 1 to 7 s; all data sources had started at 1.5 s; events from 2 to 8.16 s.
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/times" 2>"$TMP/err" <<'END'
packet { trace_config { duration_ms: 5000 data_sources { config { name: "linux.ftrace" } } } }
packet { trusted_packet_sequence_id: 1 timestamp: 1000000000 service_event { tracing_started: true } }
packet { trusted_packet_sequence_id: 1 timestamp: 1500000000 service_event { all_data_sources_started: true } }
packet { trusted_packet_sequence_id: 4 ftrace_events { cpu: 0 event { timestamp: 2000000000 pid: 1 print { buf: "a" } }
  event { timestamp: 8160000000 pid: 1 print { buf: "b" } } } }
packet { trusted_packet_sequence_id: 1 timestamp: 7000000000 service_event { tracing_disabled: true } }
END
verdict "protoc encodes a trace with known times" $?
"$SONDA" info "$TMP/times" >"$TMP/out" 2>"$TMP/err"
shows "what was recorded, asked for, and is in the trace" '^Recorded 5\.50 s \(asked for 5 s; events cover 6\.16 s\): 2 events'
"$SONDA" report "$TMP/times" >"$TMP/out" 2>"$TMP/err"
grep -qE '^ *asked +recorded +span ' "$TMP/out" && grep -qE '^ *5\.00 s +5\.50 s +6\.16 s ' "$TMP/out"
verdict "sonda report has the same durations, by the same words" $?
"$SONDA" info --json "$TMP/times" >"$TMP/out" 2>"$TMP/err"
"$SONDA" report --json "$TMP/times" >"$TMP/report" 2>>"$TMP/err"
python3 - "$TMP/out" "$TMP/report" <<'END' 2>>"$TMP/err"
import json, sys
info, trace = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))["Trace"][0]
assert (info["asked_s"], info["set_up_s"], info["duration_s"], info["events_s"]) == (5, 0.5, 5.5, 6.16), info
assert (trace["asked_ns"], trace["recorded_ns"], trace["span_ns"]) == (5e9, 5.5e9, 6.16e9), trace
END
verdict "and so has JSON" $?

protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/hour" <<<'packet { trace_config { duration_ms: 3600000 buffers { size_kb: 1024 } } }'
"$SONDA" info "$TMP/hour" >"$TMP/out" 2>"$TMP/err"
shows "a long duration in the config" '^  config   3600 s, buffer 0 of 1 MiB$'

mkdir "$TMP/directory" && cd "$TMP/directory" || exit 2
"$SONDA" info >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && grep -q '^sonda: info: this directory contains no trace; name a file$' "$TMP/err"
verdict "a directory without a trace" $?
cp "$TRACE" older && touch -d yesterday older && cp "$TRACE" newer
"$SONDA" info >"$TMP/out" 2>"$TMP/err" && grep -q '^sonda: info: newer is the newest trace here$' "$TMP/err"
verdict "without FILE: the newest trace of the directory" $?
shows "its summary" '^Recorded .* to newer$'
echo "1..$N"
exit $BAD
