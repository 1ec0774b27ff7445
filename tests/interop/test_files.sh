#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Perfetto's command line and its probes with our service, which writes the trace itself: into the file that the command
# line passes, and to a path of the config. trace_processor must load what comes out with no error, and find in it what was
# recorded. The same when the service is killed.
set -u
. "$(dirname "$0")/lib.sh"
need_tracefs
COUNT=${BUILD:-build}/bench/count_events

config() { # MORE
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 16384 }
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config { ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking" drain_period_ms: 250 }
  }
}
data_sources {
  config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } }
}
write_into_file: true
file_write_period_ms: 200
flush_period_ms: 1000
$1
CONFIG
}

# Switches of each second, or the complaints of trace_processor.
good_trace() { # TRACE
  local errors switches
  errors=$(trace_errors "$1")
  switches=$(query "$1" "select count() as n from sched" | grep -o '[0-9]*')
  echo "errors: $errors, switches: ${switches:-none}" >"$TMP/detail"
  [ "$errors" = '[]' ] && [ "${switches:-0}" -gt 100 ]
}

load() { while :; do sleep 0.002; done; }

use_sockets "$TMP"
start_service sonda "$TMP" && start_probes perfetto "$TMP" || exit 1
load &
PIDS+=($!)

config "duration_ms: 2500"
record perfetto "$TMP/config" "$TMP/passed" "$TMP/log"
verdict "perfetto with write_into_file: ends well" $? "$TMP/log"
good_trace "$TMP/passed"
verdict "perfetto with write_into_file: the trace loads" $? "$TMP/detail"

config "duration_ms: 2500 output_path: \"$TMP/by-service\""
timeout 60 "$PEERS/run" perfetto --txt -c "$TMP/config" >"$TMP/log" 2>&1
verdict "perfetto with output_path: ends well" $? "$TMP/log"
good_trace "$TMP/by-service"
verdict "perfetto with output_path: the trace loads" $? "$TMP/detail"
timeout 60 "$PEERS/run" perfetto --txt -c "$TMP/config" >"$TMP/log" 2>&1
[ $? != 0 ] && grep -qi 'exist' "$TMP/log"
verdict "perfetto with output_path: a file that is there is refused" $? "$TMP/log"

config "duration_ms: 30000 max_file_size_bytes: 1000000 output_path: \"$TMP/limited\""
timeout 60 "$PEERS/run" perfetto --txt -c "$TMP/config" >"$TMP/log" 2>&1 &&
  [ "$(stat -c %s "$TMP/limited")" -le 1000000 ] && good_trace "$TMP/limited"
verdict "max_file_size_bytes ends it with a file that loads" $? "$TMP/detail"

config "duration_ms: 2500 compression_type: COMPRESSION_TYPE_DEFLATE"
record perfetto "$TMP/config" "$TMP/deflated" "$TMP/log" && good_trace "$TMP/deflated"
verdict "deflate into a file: the trace loads" $? "$TMP/detail"
grep -v 'write_into_file\|file_write_period' "$TMP/config" >"$TMP/read"
record perfetto "$TMP/read" "$TMP/deflated-read" "$TMP/log" && good_trace "$TMP/deflated-read"
verdict "deflate over the socket: the trace loads" $? "$TMP/detail"
sed -i 's|compression_type: .*|compression { deflate {} }|' "$TMP/read"
record sonda "$TMP/read" "$TMP/deflated-sonda" "$TMP/log" && good_trace "$TMP/deflated-sonda"
verdict "deflate with the newer field, by sonda record: the trace loads" $? "$TMP/detail"

# Each file of a rotation loads alone: it has names and interned kernel symbols of its own.
rotation() { # PROBES MORE
  local dir=$TMP/rotate.$RANDOM file n=0
  mkdir "$dir"
  config "duration_ms: 5500 output_path: \"$dir/trace.pftrace\" $2"
  sed -i 's|ftrace_config {|& symbolize_ksyms: true ftrace_events: "workqueue/workqueue_execute_start"|' "$TMP/config"
  record sonda "$TMP/config" "$TMP/unused" "$TMP/log"
  verdict "rotation, $1 probes, $2: ends well" $? "$TMP/log"
  for file in "$dir"/trace.*.pftrace; do
    n=$((n + 1))
    trace_errors "$file" >"$TMP/detail"
    [ "$(cat "$TMP/detail")" = '[]' ]
    verdict "rotation, $1 probes: ${file##*/} loads alone" $? "$TMP/detail"
    # The second one holds a whole period; of a shorter file a reader may see little.
    if [[ $2 = *period* && $file = *000002* ]]; then
      query "$file" "select count() as n from process where name != ''" >"$TMP/detail"
      [ "$(grep -o '[0-9]*' "$TMP/detail")" -gt 2 ]
      verdict "rotation, $1 probes: ${file##*/} has names of its own" $? "$TMP/detail"
    fi
    query "$file" "select str_value as u from metadata where name = 'trace_uuid'" >>"$dir/uuids"
  done
  [ "$n" -ge 3 ] && [ "$(sort -u "$dir/uuids" | wc -l)" = "$n" ]
  verdict "rotation, $1 probes: several files, each with a uuid of its own" $?
}
rotation "Perfetto's" 'rotate { period_ms: 1500 }'
rotation "Perfetto's" 'rotate { max_file_size_bytes: 65536 keep: 4 }'
kill "${PIDS[1]}"
wait "${PIDS[1]}" 2>/dev/null
start_probes sonda "$TMP" || exit 1
PIDS=("${PIDS[0]}" "${PIDS[3]}" "${PIDS[2]}")
rotation our 'rotate { period_ms: 1500 }'

config "duration_ms: 30000"
timeout 60 "$PEERS/run" perfetto --txt -c "$TMP/config" -o "$TMP/killed" >"$TMP/log" 2>&1 &
client=$!
for _ in $(seq 200); do
  [ "$("$COUNT" "$TMP/killed" 2>/dev/null | cut -d' ' -f1)0" -gt 10000 ] && break
  sleep 0.1
done
{ kill -KILL "${PIDS[0]}"; wait "${PIDS[0]}" "$client"; } 2>/dev/null
kill "${PIDS[1]}"
wait "${PIDS[1]}" 2>/dev/null
PIDS=("${PIDS[2]}")
good_trace "$TMP/killed"
verdict "a service that is killed leaves a trace that loads" $? "$TMP/detail"

# The sample, shortened.
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1
sed "s|^duration_ms:.*|duration_ms: 2000|; s|^output_path:.*|output_path: \"$TMP/long\"|" configs/long.cfg >"$TMP/config"
record sonda "$TMP/config" "$TMP/unused" "$TMP/log"
verdict "configs/long.cfg: ends well" $? "$TMP/log"
good_trace "$TMP/long"
verdict "configs/long.cfg: the trace loads" $? "$TMP/detail"
sed "s|^output_path:.*|duration_ms: 60000 output_path: \"$TMP/flight.pftrace\"|; s|period_ms: 600000|period_ms: 1000|;
  s|write_period_ms: 2500|write_period_ms: 200|" configs/rotate.cfg >"$TMP/config"
"$BIN/sonda" record -c "$TMP/config" -o "$TMP/unused" >"$TMP/log" 2>&1 &
client=$!
for _ in $(seq 200); do
  [ -e "$TMP/flight.000003.pftrace" ] && break
  sleep 0.1
done
kill -TERM $client
wait $client && [ "$(trace_errors "$TMP/flight.000001.pftrace")" = '[]' ] &&
  [ "$(trace_errors "$TMP/flight.000002.pftrace")" = '[]' ]
verdict "configs/rotate.cfg: the files load" $? "$TMP/log"
echo "1..$N"
exit $BAD
