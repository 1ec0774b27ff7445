#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The life of sessions: every way in which Perfetto's command line runs a session, against sondad with sonda-probes.
# Each trace must load in trace_processor with no error, and hold the threads that ran meanwhile. PROBES=perfetto: the
# same with Perfetto's traced_probes.
. "$(dirname "$0")/lib.sh"
need_tracefs

dir=$TMP/sessions
mkdir "$dir"
use_sockets "$dir"
start_service sonda "$dir" && start_probes "${PROBES:-sonda}" "$dir"
verdict "sondad and ${PROBES:-our} probes start" $?
"$B/tests/interop/named_threads" 6 120 >"$dir/tids" &
PIDS+=($!)

perfetto() { timeout 60 "$PEERS/run" perfetto "$@"; }

sources='
buffers { size_kb: 8192 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/sched_switch" ftrace_events: "task/task_rename" drain_period_ms: 100 } } }
data_sources { config { name: "linux.process_stats" process_stats_config {
  scan_all_processes_on_start: true record_thread_names: true } } }
'
threads="select count(distinct t.name) as n from sched s join thread t using (utid) where t.name glob 'sonda-t*'"

is_good() { # WHAT TRACE
  query "$2" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" "$threads" \
    >"$dir/answers" 2>&1
  grep -qx '\[\]' "$dir/answers" && grep -qx '\[{"n":6}\]' "$dir/answers"
  verdict "$1" $? "$dir/answers"
}

# Waits for a condition that must come true.
until_true() { # COMMAND...
  local i
  for ((i = 0; i < 200; i++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

sessions() { perfetto --query --long 2>/dev/null; }
has_session() { sessions | grep -q "$1"; } # a name or a state of it
has_no_session() { ! has_session "$1"; }
background() { # NAME CONFIG: sets pid; the trace comes to NAME.trace
  pid=$(printf '%s\n' "$sources" "unique_session_name: \"$1\"" "$2" |
    perfetto --txt -c - -o "$dir/$1.trace" --background 2>"$dir/$1.log")
}
# Long enough on a busy machine for the data sources to start, and for each of the threads to run.
records() { sleep 2; }
ended() { ! kill -0 "$1" 2>/dev/null; }
trigger() { echo "activate_triggers: \"$1\"" | perfetto --txt -c - 2>>"$dir/trigger.log"; }

# ---- in the background ----

background bg 'duration_ms: 1500'
until_true has_session bg
verdict "--background: the session is listed by --query" $?
perfetto --query-raw >"$dir/raw" 2>/dev/null
protoc -Iprotos --decode=perfetto.protos.TracingServiceState protos/common/tracing_service_state.proto \
  <"$dir/raw" >"$dir/state" 2>&1 && grep -q 'unique_session_name: "bg"' "$dir/state"
verdict "--query-raw: the same as bytes" $? "$dir/state"
until_true ended "$pid"
is_good "--background: the trace is good" "$dir/bg.trace"

pid=$(printf '%s\n' "$sources" 'unique_session_name: "wait"' |
  perfetto --txt -c - -o "$dir/wait.trace" --background-wait 2>"$dir/wait.log")
verdict "--background-wait: returns when all data sources have started" $? "$dir/wait.log"
has_session wait
verdict "--background-wait: the session runs then" $?
records
kill -TERM "$pid"
until_true ended "$pid"
is_good "--background-wait: SIGTERM ends it with a good trace" "$dir/wait.trace"

# ---- detached ----

printf '%s\n' "$sources" 'unique_session_name: "detached" write_into_file: true file_write_period_ms: 500 flush_period_ms: 1000' |
  perfetto --txt -c - -o "$dir/detached.trace" --detach=key >"$dir/detach.log" 2>&1
verdict "--detach: returns" $? "$dir/detach.log"
has_session detached
verdict "--detach: the session runs without it" $?
perfetto --is_detached=key >/dev/null 2>&1
verdict "--is_detached: yes" $?
perfetto --is_detached=other >/dev/null 2>&1
[ $? = 2 ]
verdict "--is_detached: not under another key" $?
records
perfetto --attach=key --stop >"$dir/attach.log" 2>&1
verdict "--attach --stop: ends it" $? "$dir/attach.log"
is_good "--detach: the trace is good" "$dir/detached.trace"
perfetto --is_detached=key >/dev/null 2>&1
[ $? = 2 ]
verdict "--is_detached: not any more" $?

# ---- clones ----

background source ''
until_true has_session 'source'
records
id=$(perfetto --query-raw 2>/dev/null |
  protoc -Iprotos --decode=perfetto.protos.TracingServiceState protos/common/tracing_service_state.proto |
  awk '/tracing_sessions {/ { id = "" } $1 == "id:" { id = $2 } /unique_session_name: "source"/ { print id; exit }')
perfetto --clone "$id" -o "$dir/clone.trace" >"$dir/clone.log" 2>&1
verdict "--clone: exits well" $? "$dir/clone.log"
is_good "--clone: the trace is good" "$dir/clone.trace"
perfetto --clone-by-name source -o "$dir/named.trace" >"$dir/named.log" 2>&1
verdict "--clone-by-name: exits well" $? "$dir/named.log"
is_good "--clone-by-name: the trace is good, a second time" "$dir/named.trace"
perfetto --clone 9999 -o "$dir/none.trace" >"$dir/none.log" 2>&1
[ ! -s "$dir/none.trace" ] && grep -q 'not found' "$dir/none.log"
verdict "--clone of no session says so" $? "$dir/none.log"
kill -TERM "$pid"
until_true ended "$pid"
is_good "the session that was cloned goes on to a good trace" "$dir/source.trace"
until_true has_no_session CLONED
verdict "no clone is left" $?

# ---- clones of a session that writes a file ----

background file 'write_into_file: true file_write_period_ms: 500 flush_period_ms: 1000'
until_true test -s "$dir/file.trace"
records # the file begins with packets of the service itself
perfetto --clone-by-name file -o "$dir/file.clone" >"$dir/file.clone.log" 2>&1
verdict "--clone-by-name of a session that writes a file: exits well" $? "$dir/file.clone.log"
is_good "the clone of a file is good" "$dir/file.clone"
perfetto --clone-for-bugreport --clone-by-name file -o "$dir/bug.clone" >"$dir/bug.clone.log" 2>&1
verdict "--clone-for-bugreport: exits well" $? "$dir/bug.clone.log"
is_good "--clone-for-bugreport: the trace is good" "$dir/bug.clone"
kill -TERM "$pid"
until_true ended "$pid"
is_good "the file that was cloned goes on to a good trace" "$dir/file.trace"

# ---- triggers ----

background start 'trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 30000
  triggers { name: "go" stop_delay_ms: 1000 } }'
until_true has_session 'start'
"$BIN/sonda" trigger go 2>"$dir/sonda.log"
verdict "sonda trigger: exits well" $? "$dir/sonda.log"
until_true ended "$pid"
is_good "START_TRACING: records after its trigger" "$dir/start.trace"

background idle 'trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 1000
  triggers { name: "never" } }'
until_true ended "$pid"
[ ! -s "$dir/idle.trace" ]
verdict "START_TRACING: without a trigger there is no trace" $?

background stop 'trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 30000
  triggers { name: "other" } triggers { name: "end" stop_delay_ms: 500 producer_name_regex: ".*" } }'
until_true has_session 'stop'
records
trigger end
until_true ended "$pid"
is_good "STOP_TRACING: ends after its trigger" "$dir/stop.trace"
protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$dir/stop.trace" 2>/dev/null |
  grep -A6 '^  trigger {' >"$dir/triggers"
[ "$(grep -c 'trigger_name: "end"' "$dir/triggers")" = 1 ]
verdict "STOP_TRACING: the trigger is in the trace" $? "$dir/triggers"

background snap 'trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 30000
  triggers { name: "snap" stop_delay_ms: 200 } }'
until_true has_session 'snap'
records
trigger snap
until_true test -s "$dir/snap.trace.0"
verdict "CLONE_SNAPSHOT: a trigger makes a snapshot" $? "$dir/snap.log"
trigger snap
until_true test -s "$dir/snap.trace.1"
verdict "CLONE_SNAPSHOT: so does the next" $? "$dir/snap.log"
kill -TERM "$pid"
until_true ended "$pid"
is_good "CLONE_SNAPSHOT: the first snapshot is good" "$dir/snap.trace.0"
is_good "CLONE_SNAPSHOT: the second too" "$dir/snap.trace.1"
protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$dir/snap.trace.1" 2>/dev/null |
  grep -A6 '^  clone_snapshot_trigger {' >"$dir/triggers"
grep -q 'trigger_name: "snap"' "$dir/triggers"
verdict "CLONE_SNAPSHOT: it says which trigger it is for" $? "$dir/triggers"

until_true has_no_session snap
verdict "no session is left" $?
exit $BAD
