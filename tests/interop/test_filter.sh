#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# Trace filters: the same producer and the same config under Perfetto's service and under sondad, with Perfetto's command
# line as the consumer. What is left of the packets must be the same, field by field, on every way out of sondad.
. "$(dirname "$0")/lib.sh"
need_tracefs
TOOLS=$B/tests/interop
needs_built "$TOOLS/filter_schema"

perfetto() { timeout 60 "$PEERS/run" perfetto "$@"; }
decode() { protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$1" 2>/dev/null; }

# What is left of the producer's packets, as text: not of the service's own, which have a time of today or are
# statistics.
left() { # TRACE
  decode "$1" | awk '/^packet {/ { b = ""; n = 0; skip = 0 } { b = b $0 "\n"; n++ }
    /^  trace_stats {|^  timestamp: [0-9][0-9][0-9][0-9]/ { skip = 1 } /^}/ && n > 2 && !skip { printf "%s", b }'
}
stat_of() { # TRACE NAME
  decode "$1" | awk -v name="$2:" '/filter_stats {/ { in_it = 1 } in_it && $1 == name { print $2; exit }'
}

# ---- packets that are known ----

protoc -Iprotos --include_imports --descriptor_set_out="$TMP/schema" protos/trace/trace.proto
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/packets" <<'PACKETS'
packet { timestamp: 5 ftrace_events { cpu: 1
  event { timestamp: 10 pid: 20 print { ip: 77 buf: "B|20|open /home/me/taxes\n" } }
  event { timestamp: 11 pid: 20 print { ip: 77 buf: "E|20" } }
  event { timestamp: 12 pid: 20 sched_switch { prev_comm: "secret" prev_pid: 20 next_comm: "mine" next_pid: 21 } }
  event { timestamp: 13 pid: 20 sched_waking { comm: "secret" pid: 3 } }
  event { timestamp: 14 pid: 20 print { buf: "C|20|find x=12 x=345\n" } } } }
packet { process_tree { collection_end_timestamp: 9 processes { pid: 1 ppid: 0 cmdline: "/sbin/init" cmdline: "secret" }
  threads { tid: 3 tgid: 1 name: "worker" } } }
packet { ftrace_events { cpu: 2 event { timestamp: 15 sched_waking { comm: "secret" } } } }
packet { timestamp: 6 }
PACKETS
# One more that breaks off inside ftrace_events.
printf '\x0a\x04\x0a\x02\x12\x7f' >>"$TMP/packets"

cat >"$TMP/rules" <<'RULES'
rules { policy: SFP_ATRACE_MATCH_REDACT_GROUPS regex_pattern: "B\\|\\d+\\|open (.*)\\s*" atrace_payload_starts_with: "open " }
rules { name: "find" policy: SFP_MATCH_BREAK regex_pattern: ".*\\s*" atrace_payload_starts_with: "find" }
rules { policy: SFP_MATCH_REDACT_GROUPS regex_pattern: "(worker|mine)" }
RULES
"$TOOLS/filter_schema" +TracePacket.ftrace_events +TracePacket.process_tree -Process.cmdline -FtraceEvent.sched_waking \
  -SchedSwitchFtraceEvent.prev_comm -FtraceEventBundle.cpu <"$TMP/schema" >"$TMP/code"
# Message 0 is Trace and 1 is TracePacket: the overlay lets TracePacket.timestamp through.
overlay=$("$TOOLS/filter_schema" words 1 $((8 << 3 | 1)) 0)

config() { # MORE
  cat <<CONFIG
buffers { size_kb: 1024 }
data_sources { config { name: "sonda.test.packets" } }
trace_filter { bytecode_v2: $(cat "$TMP/code") bytecode_overlay_v54: $overlay
  string_filter_chain { $(cat "$TMP/rules") }
  string_filter_chain_v54 { rules { name: "find" policy: SFP_ATRACE_REPEATED_SEARCH_REDACT_GROUPS
    regex_pattern: "x=(\\\\d+)" atrace_payload_starts_with: "find" } } }
$1
CONFIG
}

for service in perfetto sonda; do
  dir=$TMP/$service
  mkdir "$dir"
  use_sockets "$dir"
  start_service $service "$dir" &&
    start_daemon TRACED_PROBES_NOTIFY_FD "$dir/producer.log" "$TOOLS/filter_producer" "$TMP/packets"
  config 'duration_ms: 300' | perfetto --txt -c - -o "$dir/trace" >"$dir/log" 2>&1
  verdict "$service: records with a filter" $? "$dir/log"
  left "$dir/trace" >"$dir/left"
  ! grep -aq 'secret\|taxes\|worker\|init' "$dir/trace"
  verdict "$service: what is not allowed is nowhere in the trace" $?
  [ $service = sonda ] || stop_all
done
diff "$TMP/perfetto/left" "$TMP/sonda/left" >"$TMP/diff"
verdict "both leave the same of the packets" $? "$TMP/diff"
grep -q 'buf: "B|20|open P60REDACTED---\\n"' "$dir/left" && grep -q 'buf: "C|20|find x=P6 x=P60\\n"' "$dir/left" &&
  grep -q 'next_comm: "P60R"' "$dir/left" && grep -q 'timestamp: 5$' "$dir/left"
verdict "strings and fields are what the rules and the overlay say" $? "$dir/left"
[ "$(stat_of "$dir/trace" errors)" = 1 ] && [ "$(stat_of "$dir/trace" input_packets)" -ge 10 ] &&
  [ "$(stat_of "$dir/trace" bytes_discarded_per_buffer)" -gt 100 ]
verdict "the broken packet is counted, and what was taken out" $?

# ---- every way out of sondad ----

same() { # WHAT TRACE
  left "$2" >"$TMP/left"
  cmp -s "$dir/left" "$TMP/left"
  verdict "$1: the same packets" $? "$TMP/left"
}
config 'duration_ms: 300 write_into_file: true file_write_period_ms: 200 flush_period_ms: 200' |
  perfetto --txt -c - -o "$dir/file" >"$dir/file.log" 2>&1
same "a file that the service writes" "$dir/file"

config 'unique_session_name: "filtered"' | perfetto --txt -c - -o "$dir/whole" --background-wait >"$dir/pid" 2>"$dir/whole.log"
perfetto --clone-by-name filtered -o "$dir/clone" >"$dir/clone.log" 2>&1
same "a clone" "$dir/clone"
perfetto --clone-by-name filtered --clone-for-bugreport -o "$dir/bugreport" >"$dir/clone.log" 2>&1
[ "$(grep -ac 'taxes' "$dir/bugreport")" -gt 0 ]
verdict "a clone for a bugreport: everything" $? "$dir/clone.log"
kill -TERM "$(cat "$dir/pid")"
for ((i = 0; i < 100; i++)); do
  kill -0 "$(cat "$dir/pid")" 2>/dev/null || break
  sleep 0.1
done
same "the session that was cloned" "$dir/whole"

config 'duration_ms: 300' | sed 's/bytecode_v2: "/&\\001/' | perfetto --txt -c - -o "$dir/none" >"$dir/none.log" 2>&1
grep -q 'trace_filter bytecode' "$dir/none.log" && [ ! -s "$dir/none" ]
verdict "a broken filter refuses the session with the reason" $? "$dir/none.log"
stop_all

# ---- a live kernel ----

"$TOOLS/filter_schema" -TracePacket.system_info -Process.cmdline <"$TMP/schema" >"$TMP/code"
cat >"$TMP/live.cfg" <<CONFIG
buffers { size_kb: 1024 } # the newest events: a busy machine has many
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/sched_switch" ftrace_events: "ftrace/print" } } }
duration_ms: 800
trace_filter { bytecode_v2: $(cat "$TMP/code") string_filter_chain { $(cat "$TMP/rules") } }
CONFIG
mark() { # until it is stopped
  exec 2>/dev/null
  while :; do
    echo 'B|20|open /home/me/taxes' >/sys/kernel/tracing/trace_marker # while a session traces
    sleep 0.05
  done
}
# The fields that any event has, as paths.
shape() { # TEXT
  awk '/[{]$|: / { n = match($0, /[^ ]/); name = $1; sub(":$", "", name); p[n] = p[n - 2] "/" name; print p[n] }' "$1" |
    grep '/ftrace_events/event/' | sort -u
}
hold_top_level # all recordings of markers get these
mark &
PIDS+=($!)
for service in perfetto sonda; do
  dir=$TMP/live-$service
  mkdir "$dir"
  use_sockets "$dir"
  start_service $service "$dir" && start_probes sonda "$dir"
  for ms in 800 3000 12000; do # a busy machine takes long to begin
    sed "s/^duration_ms: .*/duration_ms: $ms/" "$TMP/live.cfg" >"$dir/live.cfg"
    perfetto --txt -c "$dir/live.cfg" -o "$dir/trace" >"$dir/log" 2>&1
    decode "$dir/trace" >"$dir/text"
    shape "$dir/text" >"$dir/shape"
    ! grep -q '/print/' "$dir/shape" || break
  done
  grep -aq 'open P60REDACTED---' "$dir/trace" && ! grep -aq taxes "$dir/trace" && ! grep -q 'system_info {' "$dir/text"
  verdict "$service: markers of the kernel are redacted" $? "$dir/log"
done
leave_top_level
[ -s "$dir/shape" ] && cmp -s "$TMP/live-perfetto/shape" "$TMP/live-sonda/shape"
verdict "both leave the same fields" $?
query "$dir/trace" "select count(*) > 10 as ok from sched" \
  "select name, value from stats where severity = 'error' and value > 0" >"$dir/answers"
[ "$(tr -d '\n' <"$dir/answers")" = '[{"ok":1}][]' ]
verdict "trace_processor reads the rest, and finds no error" $? "$dir/answers"
exit $BAD
