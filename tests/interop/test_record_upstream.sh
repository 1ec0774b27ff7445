#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# `sonda record` against Perfetto's own service and probes, beyond the cells: the shorthand, Ctrl-C, losses in both
# rings, what does not exist, refused configs. What the summary counts is compared with what trace_processor finds.
. "$(dirname "$0")/lib.sh"
need_tracefs
needs_built "$BIN/sonda"
use_sockets "$TMP"
start_service perfetto "$TMP" && start_probes perfetto "$TMP"
verdict "Perfetto's service and probes start" $? "$TMP/service.log"

sonda_record() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  rm -f "$TMP/trace"
  timeout 60 "$BIN/sonda" record -o "$TMP/trace" "$@" >/dev/null 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}

said() { # REGEX
  grep -qE "$1" "$TMP/log" || { echo "not said: $1" >>"$TMP/log"; return 1; }
}

# How many events of a name the trace holds, by another reader of it.
count() { # EVENT FIELD
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$TMP/trace" | grep -cE "^ *$1"
}

thousands() { # 1204331 -> 1,204,331
  LC_ALL=C awk -v n="$1" 'BEGIN { while (length(n) > 3) { s = "," substr(n, length(n) - 2) s; n = substr(n, 1, length(n) - 3) } print n s }'
}

# Switches all the while.
start_load() {
  timeout 60 perf bench sched pipe -l 1000000000 >/dev/null 2>&1 &
  load=$!
}
end_load() {
  kill $load
  wait $load
} 2>/dev/null

start_load
sonda_record 0 -t 300ms sched
verdict "shorthand: exit code 0" $? "$TMP/log"
end_load
[ "$(trace_errors "$TMP/trace")" = '[]' ]
verdict "shorthand: trace_processor has no complaint" $? "$TMP/tpq.err"
said '^Recorded [0-9]+\.[0-9]+ s( \([^)]*\))? on [0-9]+ CPUs?: [0-9,]+ events, [0-9,]+ processes, ' &&
  said '^  events   sched [1-9][0-9,]+(, task [1-9][0-9,]*)?$'
verdict "shorthand: the summary counts" $? "$TMP/log"
# Compact events: one timestamp each.
expected=$(($(count switch_timestamp:) + $(count waking_timestamp:) +
  $(count 'sched_(process_(exit|exec|fork|free)|wakeup_new) \{')))
said "^  events   sched $(thousands $expected)(,|\$)"
verdict "shorthand: as many events as protoc finds" $? "$TMP/log"

sonda_record 0 -t 300ms sched/sched_swich sched:sched_switch 'nosuch/*' 'irq/softirq_e[nx]*' &&
  said "missing +event 'sched/sched_swich' does not exist; did you mean sched/sched_switch\?" &&
  said "no event matches 'nosuch/\*'"
verdict "events that do not exist are reported with the nearest name" $? "$TMP/log"
sonda_record 3 --strict -q -t 300ms sched/sched_swich sched && [ -s "$TMP/trace" ]
verdict "events that do not exist: exit code 3 with --strict" $? "$TMP/log"
sonda_record 0 --strict -q -t 300ms -B 16mb sched
verdict "nothing lost, nothing missing: exit code 0 with --strict" $? "$TMP/log"

# Anew: these probes keep the ring of a session that is just ending.
stop_all
start_service perfetto "$TMP" && start_probes perfetto "$TMP"
cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 4096 }
duration_ms: 2000
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config { ftrace_events: "sched/sched_switch" buffer_size_kb: 4 drain_period_ms: 1000 }
  }
}
data_sources { config { name: "linux.nosuch" } }
CONFIG
start_load
sonda_record 3 --strict -c "$TMP/config" &&
  said 'lost +kernel rings: [0-9,]+ events \(cpu[0-9]+ [0-9,]+' && said 'try buffer_size_kb: ' &&
  said "no producer provides the data source 'linux.nosuch'"
verdict "losses of the kernel's rings are reported by CPU" $? "$TMP/log"
end_load

start_load
sonda_record 0 -b 64k -B 16mb -t 1s sched/sched_switch &&
  said 'lost +central buffer 0 \(64 KiB\): the oldest .* were overwritten.*; try -b [0-9]+mb'
verdict "what the central buffer overwrote is reported" $? "$TMP/log"
end_load

# A recording in the background that the service has heard of, and that has had time for something; $recorder is its pid.
record_in_background() { # OUT
  "$BIN/sonda" record -o "$1" sched 2>"$TMP/log" &
  recorder=$!
  for _ in $(seq 200); do
    # shellcheck disable=SC2012
    ! ls -l /proc/$recorder/fd | grep -q socket: || break
    sleep 0.1
  done
  sleep 1
}
record_in_background "$TMP/trace"
kill -INT $recorder
wait $recorder && [ "$(trace_errors "$TMP/trace")" = '[]' ] && said '^Recorded '
verdict "Ctrl-C stops and saves" $? "$TMP/log"

echo 'buffers { size_kb: 0 } data_sources { config { name: "linux.ftrace" } }' >"$TMP/config"
sonda_record 1 -c "$TMP/config" && said 'the tracing service aborted the session: ' && [ ! -e "$TMP/trace" ]
verdict "a refused config: the service's reason, exit code 1, no file" $? "$TMP/log"
cat >"$TMP/config" <<CONFIG
buffers { size_kb: 64 }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 50 } } }
duration_ms: 200
write_into_file: true
output_path: "$TMP/by-service"
CONFIG
sonda_record 0 -c "$TMP/config" && said "to $TMP/by-service" && [ ! -e "$TMP/trace" ] && [ -s "$TMP/by-service" ]
verdict "a trace that the service writes itself" $? "$TMP/log"
sed -i '/^output_path/d; s/duration_ms: 200/duration_ms: 1000/; s/size_kb: 64 /size_kb: 4096 /' "$TMP/config"
cat >>"$TMP/config" <<CONFIG
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
flush_period_ms: 1000
CONFIG
sonda_record 0 -c "$TMP/config" && said "^Recorded .* events, .* to $TMP/trace" && said 'lost +nothing' &&
  [ "$(trace_errors "$TMP/trace")" = '[]' ] && [ "$(query "$TMP/trace" 'select count(*) > 10 as x from sched')" = '[{"x":1}]' ]
verdict "a file that the service writes for us" $? "$TMP/log"

record_in_background "$TMP/trace2"
kill -KILL "${PIDS[0]}"
wait $recorder
[ $? = 1 ] && said 'the tracing service disconnected' && [ "$(trace_errors "$TMP/trace2")" = '[]' ]
verdict "a service that dies: exit code 1, and what it wrote is kept" $? "$TMP/log"
exit $BAD
