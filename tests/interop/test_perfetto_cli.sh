#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
#
# Command lines of Perfetto's perfetto, each given to it and to sonda under that name: the same exit code, the same kind
# of output, and the same message where Perfetto has one that scripts search for.
. "$(dirname "$0")/lib.sh"
need_tracefs
case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
theirs=$PEERS/run
ours=$TMP/bin/perfetto
mkdir "$TMP/bin" "$TMP/paths"
ln -s "$BIN/sonda" "$ours"
use_sockets "$TMP"
OUTPUT_DIR=$TMP/paths
start_service sonda "$TMP" && start_probes sonda "$TMP"
verdict "service and probes start" $? "$TMP/service.log"

sources='data_sources: { config { name: "linux.system_info" } } '
cat >"$TMP/files" <<END
short.cfg buffers { size_kb: 128 } duration_ms: 50 $sources
long.cfg buffers { size_kb: 128 } $sources
minute.cfg buffers { size_kb: 128 } duration_ms: 60000 $sources
file.cfg buffers { size_kb: 128 } duration_ms: 50 write_into_file: true $sources
filelong.cfg buffers { size_kb: 128 } write_into_file: true $sources
named.cfg buffers { size_kb: 128 } unique_session_name: "twice" $sources
bad.cfg buffers { size_kb: 0 } duration_ms: 50 $sources
typo.cfg bufers { size_kb: 128 }
open.cfg buffers { size_kb: 128
enum.cfg buffers { size_kb: 128 fill_policy: NO }
delay.cfg cmd_trace_start_delay { min_delay_ms: 5 } buffers { size_kb: 128 } $sources
delayed.cfg cmd_trace_start_delay { min_delay_ms: 5 max_delay_ms: 9 } buffers { size_kb: 128 } duration_ms: 50 $sources
trigger.cfg activate_triggers: "x"
path.cfg buffers { size_kb: 128 } duration_ms: 50 write_into_file: true output_path: "$TMP/paths/p" $sources
snap.cfg buffers { size_kb: 128 } trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 triggers { name: "hit" stop_delay_ms: 50 } } $sources
hit.cfg activate_triggers: "hit"
report.cfg buffers { size_kb: 128 } bugreport_score: 5 bugreport_filename: "x" unique_session_name: "a" $sources
report2.cfg buffers { size_kb: 128 } bugreport_score: 9 bugreport_filename: "x" unique_session_name: "b" $sources
notes.cfg buffers { size_kb: 128 } duration_ms: 50 statsd_metadata { triggering_alert_id: 3 } $sources
END

# For command lines whose service is killed while it records: lose OPTION...
cat >"$TMP/lose" <<'END'
lose() {
  local service client
  export PERFETTO_PRODUCER_SOCK_NAME=$PWD/p PERFETTO_CONSUMER_SOCK_NAME=$PWD/c
  rm -f p c # of a run before in this directory
  "$SONDAD" 2>/dev/null &
  service=$!
  until [ -S c ]; do sleep 0.05; done
  perfetto "$@" &
  client=$!
  until perfetto --query 2>/dev/null | grep -q 'STARTED *(1)'; do sleep 0.05; done
  kill -KILL $service
  wait $client
}
END
export SONDAD=$BIN/sondad LOSE=$TMP/lose

# What a command line leaves: its exit code, what kind of file, what kind of output, and the messages without their place.
run_one() { # PROGRAM COMMAND_LINE
  local dir
  dir=$(mktemp -d "$TMP/run.XXXXXX")
  (
    cd "$dir" || exit 2
    while read -r name text; do echo "$text" >"$name"; done <"$TMP/files"
    : >there
    rm -f "$TMP/paths/p"
    P=$1 timeout 60 bash -c "perfetto() { \$P \"\$@\"; }; $2" >"$dir/.out" 2>"$dir/.err" </dev/null
    echo "exit code $?"
    for f in x y x_1 x.0 x.1 systrace.pftrace; do
      [ ! -e $f ] || { [ -s $f ] && echo "$f: data" || echo "$f: empty"; }
    done
    if grep -qxE '[0-9]+' "$dir/.out"; then echo "output: a pid"; elif [ -s "$dir/.out" ]; then echo "output: some"; fi
  ) >"$dir/.result"
  cat "$dir/.result"
}

lines() { # from standard input: '#' comments; a line "= WHY" after a line: the docs say why it differs
  local line a b
  while IFS= read -r line; do
    case $line in '' | '#'*) continue ;; esac
    a=$(run_one "$theirs perfetto" "$line")
    b=$(run_one "$ours" "$line")
    [ "$a" = "$b" ]
    local status=$?
    printf '%s\n' "$line" "Perfetto: $a" "sonda: $b" >"$TMP/log"
    [ $status = 0 ] || tail -n 3 "$TMP"/run.*/.err >>"$TMP/log"
    verdict "perfetto: $line" $status "$TMP/log"
    rm -rf "$TMP"/run.*
  done
}

lines <<'END'
perfetto
perfetto --help
perfetto -h
perfetto --version
perfetto --reset-guardrails
perfetto --nosuch
perfetto -Z
perfetto --que
perfetto --backg -t 1s
perfetto --is_detached
perfetto -t
perfetto -o x
perfetto -t 100ms sched
perfetto -t 100ms -o x
perfetto -t 100ms -o x sched/sched_process_exit
perfetto -t 100ms -b 1mb -o x sched/sched_process_exit
perfetto -t 100ms -b 1024k -o x sched/sched_process_exit
perfetto -t 100ms -b 1024kb -s 1m -o x sched/sched_process_exit
perfetto -t 100ms -s 10mb -o x sched/sched_process_exit
perfetto -t 100ms -a app -o x
perfetto -t 100ms -o x disk
perfetto -c - -t 100ms -o x
perfetto -c - --txt -t 100ms -o x sched/sched_process_exit
perfetto -c - -t 100ms
perfetto -c - -o x
perfetto -c :test -t 100ms -o x
perfetto -c none -t 100ms -o x
perfetto -t 10 -o x sched
perfetto -t 1.5s -o x sched
perfetto -t 1S -o x sched
perfetto -t 1ss -o x sched
perfetto -b 10MB -t 100ms -o x sched
perfetto -b 10 -t 100ms -o x sched
perfetto -s x -t 100ms -o x sched
perfetto -t 100ms --no-clobber -o there sched
perfetto -t 100ms --no-clobber -o x nosuch/event
perfetto -t 100ms -o /nonexistent/x nosuch/event
perfetto -t 100ms -o - nosuch/event >y
perfetto -c none -o x
perfetto -c short.cfg -o x
perfetto --txt -c short.cfg
perfetto --txt -c short.cfg -o x
perfetto --txt -c - -o x <short.cfg
cat short.cfg | perfetto --txt --config=- --out=x
perfetto --txt -c - -o - <short.cfg >y
perfetto --txt -c /dev/null -o x
perfetto --txt -c typo.cfg -o x
perfetto --txt -c open.cfg -o x
perfetto --txt -c enum.cfg -o x
perfetto --txt -c bad.cfg -o x
perfetto --txt -c delay.cfg -o x
perfetto --txt -c delayed.cfg -o x
perfetto --txt -c file.cfg -o x
perfetto --txt -c path.cfg -o x
perfetto --txt -c trigger.cfg
perfetto --txt -c notes.cfg -o x --alert-id 1 --config-id 2 --config-uid 3 --subscription-id 4
perfetto --txt -c short.cfg -o x --add-note key=value
perfetto --txt -c short.cfg -o x --add-note =value
perfetto --txt -c short.cfg -t 1s -o x
perfetto --txt -c short.cfg -o x sched
perfetto --txt -c short.cfg -o x --no-guardrails
perfetto --txt -c short.cfg --upload
perfetto --txt -c short.cfg --dropbox perfetto
perfetto --query
perfetto --query --long
perfetto --query-raw >y
perfetto --long
perfetto --query -t 1s
perfetto --query -d
perfetto --query -c short.cfg
perfetto --query -c -
perfetto --query -c none
perfetto --attach none -c -
perfetto --save-all-for-bugreport -c -
. "$LOSE"; lose -t 60s -o x
. "$LOSE"; lose -t 60s -s 1m -o x
. "$LOSE"; lose --txt -c snap.cfg -o x
perfetto --clone 99 -o x
perfetto --clone abc -o x
perfetto --clone 99
perfetto --clone-by-name none -o x
perfetto --clone 1 --clone-by-name x -o x
perfetto --clone-for-bugreport -o x
perfetto --save-for-bugreport -t 1s
perfetto --save-all-for-bugreport -t 1s
perfetto --save-for-bugreport
perfetto --save-all-for-bugreport
perfetto --save-for-bugreport -o x
perfetto --save-all-for-bugreport -o x
perfetto --save-all-for-bugreport --txt -c short.cfg
export TMPDIR=$PWD; a=$(perfetto --txt -c report.cfg -o y -D) && perfetto --save-for-bugreport; kill $a; until [ -s y ]; do sleep 0.05; done
export TMPDIR=$PWD; a=$(perfetto --txt -c report.cfg -o y -D) && b=$(perfetto --txt -c report2.cfg -o z -D) && perfetto --save-all-for-bugreport; kill $a $b; until [ -s y ] && [ -s z ]; do sleep 0.05; done
pid=$(perfetto --txt -c snap.cfg -o $PWD/x -D) && perfetto --txt -c hit.cfg && until [ -s x.0 ]; do sleep 0.05; done; perfetto --txt -c hit.cfg && until [ -s x.1 ]; do sleep 0.05; done; kill $pid; while kill -0 $pid; do sleep 0.05; done
perfetto --attach none
perfetto --attach none -o x
perfetto --attach none --stop
perfetto --stop
perfetto --is_detached none
perfetto --is_detached none -o x
perfetto --detach k --attach k
perfetto --detach k -d -t 1s sched
perfetto --detach k -t 1s -o x sched
perfetto --detach k --txt -c filelong.cfg -o x && perfetto --is_detached k && perfetto --attach k --stop && perfetto --is_detached k
perfetto --detach k --txt -c filelong.cfg -o x && perfetto --attach=k --stop -o y; perfetto --attach=k --stop
perfetto --txt -c short.cfg -o x -d && until [ -s x ]; do sleep 0.05; done
perfetto --txt -c short.cfg -o x -D && until [ -s x ]; do sleep 0.05; done
perfetto --txt -c none -o x -D
pid=$(perfetto --txt -c minute.cfg -o x -D) && kill -TERM $pid && until [ -s x ]; do sleep 0.05; done
pid=$(perfetto --txt -c long.cfg -o x -d) && until perfetto --query | grep -q STARTED; do sleep 0.05; done; kill -INT $pid && until [ -s x ]; do sleep 0.05; done
pid=$(perfetto --txt -c named.cfg -o x -D) && perfetto --clone-by-name twice -o y; kill -TERM $pid; until [ -s x ]; do sleep 0.05; done
pid=$(perfetto --txt -c named.cfg -o x -D) && perfetto --txt -c named.cfg -o y; kill -TERM $pid; until [ -s x ]; do sleep 0.05; done
pid=$(perfetto --txt -c named.cfg -o x -D) && perfetto --clone-by-name twice --clone-for-bugreport -o y; kill -TERM $pid; until [ -s x ]; do sleep 0.05; done
perfetto --txt -c short.cfg -o x --notify-fd 5 5>n && [ "$(od -An -tx1 n)" = " 00" ]
PERFETTO_CONSUMER_SOCK_NAME=$PWD/no perfetto -t 1s -o y nosuch/event; rm -f y
PERFETTO_CONSUMER_SOCK_NAME=$PWD/no perfetto --query
PERFETTO_CONSUMER_SOCK_NAME=$PWD/no perfetto --attach k
PERFETTO_CONSUMER_SOCK_NAME=$PWD/no perfetto -t 1s -o y nosuch/event -D; rm -f y
END

# A service without a producer: the session has started at once.
starts_alone() { # SERVICE
  local pid status
  mkdir "$TMP/alone.$1"
  (
    use_sockets "$TMP/alone.$1"
    PIDS=()
    start_service "$1" "$TMP/alone.$1"
    pid=$(timeout 20 "$ours" --txt -c "$TMP/long.cfg" -o "$TMP/alone.$1/x" -D)
    status=$?
    [ -z "$pid" ] || kill "$pid"
    stop_all
    [ $status = 0 ]
  ) >"$TMP/log" 2>&1
}
grep '^long.cfg ' "$TMP/files" | cut -d ' ' -f 2- >"$TMP/long.cfg"
for service in sonda perfetto; do
  starts_alone $service
  verdict "-D returns with a service of $service without a producer" $? "$TMP/log"
done

# Messages that scripts search for.
phrase() { # PHRASE COMMAND_LINE
  local dir=$TMP/phrase
  mkdir -p "$dir"
  (cd "$dir" && while read -r name text; do echo "$text" >"$name"; done <"$TMP/files"
    for p in "$theirs perfetto" "$ours"; do
      P=$p timeout 60 bash -c "perfetto() { \$P \"\$@\"; }; $2" >log 2>&1 </dev/null
      grep -qE -- "$1" log || { cat log; exit 1; }
    done) >"$TMP/log"
  verdict "both say '$1'" $? "$TMP/log"
}
phrase 'Wrote [0-9]+ bytes into x' 'perfetto --txt -c short.cfg -o x'
phrase 'Connected to the Perfetto traced service, TTL: 1s' 'perfetto --txt -c short.cfg -o x'
phrase 'Trace written into the output file' 'perfetto --txt -c file.cfg -o x'
phrase 'Service error: Failed to clone tracing session 99: ' 'perfetto --clone 99 -o x'
phrase 'Service error: Failed to clone tracing session "none": ' 'perfetto --clone-by-name none -o x'
phrase 'No tracing sessions eligible for bugreport were found' 'perfetto --save-all-for-bugreport'
phrase 'TTL: 61s' '$P --txt -c snap.cfg -o x 2>said & until grep TTL said; do sleep 0.05; done; kill -TERM $!; wait'
phrase 'Service error: EnableTracing IPC request rejected' '. "$LOSE"; lose -t 60s -o x'
phrase 'Disconnected from the traced service' '. "$LOSE"; lose -t 60s -s 1m -o x'
phrase 'Could not connect to the traced socket .*no. Ensure traced is running' 'PERFETTO_CONSUMER_SOCK_NAME=$PWD/no perfetto --query'
phrase 'Session re-attach failed. Check service logs for details' 'perfetto --attach none'
phrase 'Looks like you are passing a textual config' 'perfetto -c short.cfg -o x'
phrase '^ID +PID +UID +FLAGS +NAME +SDK$' 'perfetto --query'
phrase '^linux.ftrace +perfetto.traced_probes \([0-9]+\)' 'perfetto --query'
phrase '^ID +UID +STATE +BUF .#. KB +DUR .s. +#DS +STARTED +NAME$' 'perfetto --query'
phrase "Error: Output file 'there' already exists, refusing to overwrite" ': >there; perfetto -t 1s --no-clobber -o there sched'

# The same words for the same state: of programs with track events, their categories, cut unless --long is given.
mkfifo "$TMP/started"
EVENT_CASES_NOTIFY_FD=9 "$BIN/../tests/library/event_cases" 9>"$TMP/started" >"$TMP/cases.log" 2>&1 &
PIDS+=($!)
read -r -n 1 <"$TMP/started"
option_details() { # PROGRAM OPTION...
  $1 --query "${@:2}" 2>/dev/null | grep -E '^(track_event|linux\.ftrace) '
}
for long in '' --long; do
  # Word splitting is intended.
  # shellcheck disable=SC2086
  diff <(option_details "$theirs perfetto" $long) <(option_details "$ours" $long) >"$TMP/log" && option_details "$ours" $long | grep -q cases
  verdict "both print the same categories ${long:-cut}" $? "$TMP/log"
done
exit $BAD
