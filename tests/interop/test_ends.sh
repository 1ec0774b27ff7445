#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The ends of sessions between the two families: sonda tells the losses of a session in Perfetto's traced as it does of
# one in sondad, and as trace_processor counts them; and Perfetto's command line hears from sondad why it ended.
. "$(dirname "$0")/lib.sh"
need_tracefs

helpers=$B/tests/root
sonda() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  timeout 60 "$BIN/sonda" "$@" >"$TMP/stdout" 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}
says() { grep -qE -- "$1" "$TMP/log"; }
until_true() { # COMMAND...
  local i
  for ((i = 0; i < 200; i++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}
number() { # KEY: the first of them in the answer of trace_processor or sonda
  grep -oE "\"$1\": *[0-9]+" "$2" | head -n 1 | grep -oE '[0-9]+$'
}

# What the kernel's rings lost by the two readings of their counters in the trace.
lost_query="select cast(ifnull(sum(case name when 'ftrace_cpu_overrun_delta' then value end), 0) as int) as lost from stats"

for service in sonda perfetto; do
  dir=$TMP/$service
  mkdir "$dir"
  use_sockets "$dir"
  start_service $service "$dir" && start_probes sonda "$dir"
  verdict "$service's service and our probes start" $?
  probes=${PIDS[-1]}

  sonda 0 record --detach small -b 32mb -B 16k 'sched:*'
  kill -STOP "$probes" # so the rings go round
  "$helpers/ping_pong" 50000 >"$dir/load.log" 2>&1
  kill -CONT "$probes"
  sonda 3 stop small --strict -o "$dir/lossy" && says 'lost +kernel rings: [0-9,]+ events' && says 'ended +sonda stop'
  verdict "$service: stop of a session that lost events says so, --strict gives 3" $? "$TMP/log"
  reported=$(grep -oE 'kernel rings: [0-9,]+' "$TMP/log" | tr -dc 0-9)
  query "$dir/lossy" "$lost_query" >"$dir/answer" 2>&1
  [ "$(number lost "$dir/answer")" = "$reported" ] || { echo "sonda: $reported" >>"$dir/answer"; false; }
  verdict "$service: as many as trace_processor counts" $? "$dir/answer"

  sonda 0 record --detach kept -b 8mb sched
  "$helpers/ping_pong" 10000 >"$dir/load.log" 2>&1
  (ulimit -f 64 && sonda 1 stop kept -o "$dir/part") && says 'File too large; the session has ended and the service still holds' &&
    (ulimit -f 64 && sonda 1 stop kept -o "$dir/part") && sonda 0 stop kept --strict -o "$dir/whole" && says 'lost +nothing' &&
    [ "$(stat -c %s "$dir/part")" -le 65536 ] && [ "$(stat -c %s "$dir/whole")" -gt 65536 ]
  verdict "$service: stop into a file that cannot take all data leaves it to the next stop" $? "$TMP/log"

  sonda 0 record --detach widowed -b 8mb sched
  "$helpers/ping_pong" 1000 >"$dir/load.log" 2>&1
  sonda 0 snapshot widowed -o "$dir/alive" && says '^Snapshot after .* [0-9,]+ events'
  verdict "$service: snapshot has the summary" $? "$TMP/log"
  kill -KILL "$probes"
  noticed() { ! "$BIN/sonda" status 2>/dev/null | grep -v 'disconnected' | grep -q linux.ftrace; }
  until_true noticed
  sonda 3 stop widowed --strict -o "$dir/widowed" &&
    says 'lost +(the producer of linux.ftrace|[^ ]* \(pid [0-9]+\)) disconnected.*: uncommitted data'
  verdict "$service: stop of a session whose producer was killed says so" $? "$TMP/log"
  stop_all
done

# ---- a service that is stopped under a recording of Perfetto's

dir=$TMP/stopped
mkdir "$dir"
use_sockets "$dir"
for into in memory file; do
  start_service sonda "$dir" && service=${PIDS[-1]} && start_probes sonda "$dir"
  cat >"$dir/config" <<CONFIG
buffers { size_kb: 4096 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
flush_period_ms: 1000
CONFIG
  [ $into = memory ] || echo 'write_into_file: true file_write_period_ms: 100' >>"$dir/config"
  "$PEERS/run" perfetto --txt -c "$dir/config" -o "$dir/trace" >"$dir/log" 2>&1 &
  client=$!
  runs() { "$BIN/sonda" sessions | grep -q ' STARTED '; }
  until_true runs
  if [ $into = file ]; then until_true [ -s "$dir/trace" ]; fi
  kill "$service"
  wait $client
  grep -q 'Service error: the tracing service was stopped' "$dir/log"
  verdict "Perfetto's command line hears why it ends: a session in $into" $? "$dir/log"
  stop_all
done
[ -s "$dir/trace" ] && [ "$(trace_errors "$dir/trace")" = '[]' ]
verdict "Perfetto's command line has the file until the end" $? "$dir/log"

# ---- a service of Perfetto's that is stopped under a recording of ours

start_service perfetto "$dir" && service=${PIDS[-1]} && start_probes sonda "$dir"
timeout 60 "$BIN/sonda" record -o "$dir/cut" sched >"$TMP/stdout" 2>"$TMP/log" </dev/null &
client=$!
runs() { "$BIN/sonda" sessions 2>/dev/null | grep -q ' STARTED '; }
until_true runs
kill "$service"
wait $client
[ $? = 1 ] && says 'the tracing service disconnected'
verdict "record: Perfetto's service that is stopped is no success" $? "$TMP/log"

exit $BAD
