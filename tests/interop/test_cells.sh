#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The 8 cells of {our, Perfetto's} probes x service x consumer. Each records 3 s of real scheduling and process names
# while a process of named threads runs; a cell with our probes runs beside one with Perfetto's. trace_processor must load
# each trace with no error, find each thread under its name in `sched`, and the process with its command line. The
# TraceConfig in all eight traces is the same.
. "$(dirname "$0")/lib.sh"
need_tracefs
needs_built "$BIN/sonda"

cat >"$TMP/config" <<'CONFIG'
# A comment, and values of many kinds, so that equal texts must give equal messages.
buffers { size_kb: 16384 fill_policy: RING_BUFFER name: "main" }
buffers { size_kb: 2048 fill_policy: DISCARD }
data_sources {
  config {
    name: "linux.ftrace"
    target_buffer: 0
    ftrace_config {
      ftrace_events: "sched/sched_switch"
      ftrace_events: "sched/sched_waking"
      ftrace_events: "sched/sched_process_exit"
      ftrace_events: "task/task_newtask"
      ftrace_events: "task/task_rename"
      compact_sched { enabled: true }
      buffer_size_kb: 8192
      drain_period_ms: 250
    }
  }
}
data_sources {
  config {
    name: "linux.process_stats"
    target_buffer: 1
    process_stats_config { scan_all_processes_on_start: true record_thread_names: true }
  }
}
data_sources { config { name: "linux.system_info" target_buffer: 1 } }
duration_ms: 3000
flush_timeout_ms: 4000
trace_uuid_msb: -81985529216486896
trace_uuid_lsb: 1147797409030816545
CONFIG

threads=6
names_sql="select distinct t.name as name from sched s join thread t using (utid) where t.name glob 'sonda-t*' order by 1"

# Sets recorder, whose status is that of the recording.
begin_cell() { # PROBES SERVICE CONSUMER
  local dir="$TMP/$1-$2-$3"
  mkdir "$dir"
  use_sockets "$dir"
  start_service "$2" "$dir" && start_probes "$1" "$dir"
  verdict "probes=$1 service=$2 consumer=$3: starts" $?
  "$B/tests/interop/named_threads" $threads 60 >"$dir/tids" &
  PIDS+=("$!")
  # It is that program by then, not yet the shell that becomes it.
  for ((i = 0; i < 1200; i++)); do
    [ ! -s "$dir/tids" ] || break
    sleep 0.05
  done
  record "$3" "$TMP/config" "$dir/trace" "$dir/record.log" &
  recorder=$!
}

check_cell() { # STATUS PROBES SERVICE CONSUMER
  local cell="probes=$2 service=$3 consumer=$4" dir="$TMP/$2-$3-$4" pid
  verdict "$cell: records" "$1" "$dir/record.log"
  [ -s "$dir/trace" ] || return

  pid=$(cut -d' ' -f1 "$dir/tids")
  query "$dir/trace" \
    "select name, idx, value from stats where severity = 'error' and value > 0" \
    "$names_sql" \
    "select count(*) as n from sched join thread t using (utid) where t.name glob 'sonda-t*'" \
    "select p.pid, p.cmdline from process p where p.pid = $pid" \
    "select count(distinct tid) as n from thread where tid in ($(cut -d' ' -f2- "$dir/tids" | tr ' ' ',')) and name glob 'sonda-t*'" \
    "select count(distinct cpu) as n from sched" \
    "select count(*) as n from process where name is not null and name != ''" >"$dir/answers" 2>&1
  expect() { # LINE WHAT TEST
    local line
    line=$(sed -n "${1}p" "$dir/answers")
    [[ $line =~ $3 ]]
    verdict "$cell: $2" $? "$dir/answers"
  }
  expect 1 "no error stat" '^\[\]$'
  expect 2 "all named threads ran" 'sonda-t0.*sonda-t1.*sonda-t2.*sonda-t3.*sonda-t4.*sonda-t5'
  expect 3 "they ran often" ':[1-9][0-9]{3,}'
  expect 4 "the process has its command line" 'named_threads 6 60'
  expect 5 "each thread's name is with its tid" ":$threads\\}"
  expect 6 "every CPU was seen" ":$(nproc)\\}"
  expect 7 "processes are named" ':[1-9][0-9]+'
}

# What the two command lines add of their own is left out: statsd fields, attributes, a switch that says what its
# absence says.
config_of() { # TRACE
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$1" |
    awk '/^packet {/ { keep = 0 } /^  trace_config {/ { keep = 1 } keep { print } /^  }/ { keep = 0 }' |
    awk '/^    statsd_metadata {/ { skip = 1 } !skip && !/statsd_logging|enable_extra_guardrails: false/ { print } /^    }/ { skip = 0 }'
}

for service in perfetto sonda; do
  for consumer in perfetto sonda; do
    hold_top_level
    begin_cell perfetto $service $consumer
    theirs=$recorder
    begin_cell sonda $service $consumer
    ours=$recorder
    wait "$theirs"
    theirs=$?
    wait "$ours"
    ours=$?
    stop_all
    leave_top_level
    check_cell $theirs perfetto $service $consumer
    check_cell $ours sonda $service $consumer
  done
done

config_of "$TMP/perfetto-perfetto-perfetto/trace" >"$TMP/expected"
[ -s "$TMP/expected" ]
verdict "the reference has a TraceConfig" $?
for trace in "$TMP"/*-*-*/trace; do
  cell=$(basename "$(dirname "$trace")")
  config_of "$trace" | diff "$TMP/expected" - >"$TMP/diff"
  verdict "TraceConfig in $cell is that of the reference" $? "$TMP/diff"
done
exit $BAD
