#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# Perfetto's command line and its probes with our service, which writes the trace itself: into the file that the command
# line passes, and to a path of the config. trace_processor must load what comes out with no error, and find in it what was
# recorded. The same when the service is killed.
. "$(dirname "$0")/lib.sh"
need_tracefs
COUNT=$B/bench/count_events

config() { # NAME MORE
  cat >"$TMP/$1.cfg" <<CONFIG
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
$2
CONFIG
}

errors_sql="select name, idx, value from stats where severity = 'error' and value > 0"

# Recordings that need nothing of each other run side by side: of each the log and the status are kept.
declare -A CLIENTS
begin() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >"$TMP/$name.log" 2>&1 &
  CLIENTS[$name]=$!
}
# The status of one that was begun.
ended() { # NAME
  wait "${CLIENTS[$1]}"
}
to_path() { timeout 60 "$PEERS/run" perfetto --txt -c "$1"; } # CONFIG

# Switches of each second, or the complaints of trace_processor.
good_trace() { # TRACE
  local errors switches
  { read -r errors; read -r switches; } < <(query "$1" "$errors_sql" "select count() as n from sched")
  switches=$(grep -o '[0-9]*' <<<"$switches")
  echo "errors: $errors, switches: ${switches:-none}" >"$TMP/detail"
  [ "$errors" = '[]' ] && [ "${switches:-0}" -gt 100 ]
}

ping_pong=$B/tests/root/ping_pong
needs_built "$ping_pong"

use_sockets "$TMP"
OUTPUT_DIR=$TMP
start_service sonda "$TMP" && start_probes perfetto "$TMP" || exit 1
"$ping_pong" 1000000000 500 &
PIDS+=($!)

config passed "duration_ms: 1000"
config by-service "duration_ms: 1000 output_path: \"$TMP/by-service\""
config limited "duration_ms: 30000 max_file_size_bytes: 1000000 output_path: \"$TMP/limited\""
config deflated "duration_ms: 1000 compression_type: COMPRESSION_TYPE_DEFLATE"
"$ping_pong" 1000000000 &
busy=$!
begin limited to_path "$TMP/limited.cfg"
ended limited
limited=$?
{ kill $busy; wait $busy; } 2>/dev/null
size=$(stat -c %s "$TMP/limited")
[ $limited = 0 ] && [ "$size" -le 1000000 ] && [ "$size" -gt 500000 ] && good_trace "$TMP/limited"
verdict "max_file_size_bytes ends it with a file that loads" $? "$TMP/detail"
begin ours record sonda "$TMP/passed.cfg" "$TMP/ours" /dev/stdout
begin passed record perfetto "$TMP/passed.cfg" "$TMP/passed" /dev/stdout
begin by-service to_path "$TMP/by-service.cfg"
begin deflated record perfetto "$TMP/deflated.cfg" "$TMP/deflated" /dev/stdout
ended passed
verdict "perfetto with write_into_file: ends well" $? "$TMP/passed.log"
good_trace "$TMP/passed"
verdict "perfetto with write_into_file: the trace loads" $? "$TMP/detail"
ended ours && grep -q "^Recorded .* to $TMP/ours" "$TMP/ours.log"
verdict "sonda with write_into_file: ends well, and is summed up" $? "$TMP/ours.log"
good_trace "$TMP/ours"
verdict "sonda with write_into_file: the trace loads" $? "$TMP/detail"
ended by-service
verdict "perfetto with output_path: ends well" $? "$TMP/by-service.log"
good_trace "$TMP/by-service"
verdict "perfetto with output_path: the trace loads" $? "$TMP/detail"
! to_path "$TMP/by-service.cfg" >"$TMP/log" 2>&1 && grep -qi 'exist' "$TMP/log"
verdict "perfetto with output_path: a file that is there is refused" $? "$TMP/log"
ended deflated && good_trace "$TMP/deflated"
verdict "deflate into a file: the trace loads" $? "$TMP/detail"

grep -v 'write_into_file\|file_write_period' "$TMP/deflated.cfg" >"$TMP/read.cfg"
sed 's|compression_type: .*|compression { deflate {} }|' "$TMP/read.cfg" >"$TMP/newer.cfg"
begin read record perfetto "$TMP/read.cfg" "$TMP/deflated-read" /dev/stdout
begin newer record sonda "$TMP/newer.cfg" "$TMP/deflated-sonda" /dev/stdout
ended read && good_trace "$TMP/deflated-read"
verdict "deflate over the socket: the trace loads" $? "$TMP/detail"
ended newer && good_trace "$TMP/deflated-sonda"
verdict "deflate with the newer field, by sonda record: the trace loads" $? "$TMP/detail"

# Each file of a rotation loads alone: it has names and interned kernel symbols of its own.
begin_rotation() { # NAME MORE
  mkdir "$TMP/$1"
  config "$1" "duration_ms: 3700 output_path: \"$TMP/$1/trace.pftrace\" $2"
  sed -i 's|ftrace_config {|& symbolize_ksyms: true ftrace_events: "workqueue/workqueue_execute_start"|' "$TMP/$1.cfg"
  begin "$1" record sonda "$TMP/$1.cfg" "$TMP/unused.$1" /dev/stdout
}
rotation() { # NAME PROBES MORE
  local dir=$TMP/$1 file n=0
  ended "$1"
  shift
  verdict "rotation, $1 probes, $2: ends well" $? "$dir.log"
  for file in "$dir"/trace.*.pftrace; do
    n=$((n + 1))
    query "$file" "$errors_sql" "select str_value as u from metadata where name = 'trace_uuid'" \
      "select count() as n from process where name != ''" >"$TMP/detail"
    [ "$(head -n 1 "$TMP/detail")" = '[]' ]
    verdict "rotation, $1 probes: ${file##*/} loads alone" $? "$TMP/detail"
    # The second one holds a whole period; of a shorter file a reader may see little.
    if [[ $2 = *period* && $file = *000002* ]]; then
      [ "$(sed -n 3p "$TMP/detail" | grep -o '[0-9]*')" -gt 2 ]
      verdict "rotation, $1 probes: ${file##*/} has names of its own" $? "$TMP/detail"
    fi
    sed -n 2p "$TMP/detail" >>"$dir/uuids"
  done
  [ "$n" -ge 3 ] && [ "$(sort -u "$dir/uuids" | wc -l)" = "$n" ]
  verdict "rotation, $1 probes: several files, each with a uuid of its own" $?
}
by_time='rotate { period_ms: 1000 }' by_size='rotate { max_file_size_bytes: 65536 keep: 4 }'
begin_rotation by-time "$by_time"
begin_rotation by-size "$by_size"
rotation by-time "Perfetto's" "$by_time"
rotation by-size "Perfetto's" "$by_size"
kill "${PIDS[1]}"
wait "${PIDS[1]}" 2>/dev/null
start_probes sonda "$TMP" || exit 1
PIDS=("${PIDS[0]}" "${PIDS[3]}" "${PIDS[2]}")
begin_rotation by-our-time "$by_time"
rotation by-our-time our "$by_time"

config killed "duration_ms: 30000"
begin killed record perfetto "$TMP/killed.cfg" "$TMP/killed" /dev/stdout
client=${CLIENTS[killed]}
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
