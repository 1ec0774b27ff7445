#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The verbs for sessions that a service has: record --detach, sessions, status, snapshot, attach, stop; with our own
# sondad and a producer of numbered packets. Exit codes, what is said, which files come.
. "$(dirname "$0")/lib.sh"
# Shown by verdict.
# shellcheck disable=SC2034
details() { cat "$TMP/stdout" "$TMP/log"; }
mkdir "$TMP/out"
protos=$PWD/protos
cd "$TMP/out" || exit 2

sonda() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  timeout 60 "$B/bin/sonda" "$@" >"$TMP/stdout" 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}

soon() { # COMMAND...
  for ((i = 0; i < 500; i++)); do
    "$@" && return 0
    sleep 0.02
  done
  return 1
}
says() { grep -q -- "$1" "$TMP/log"; }
lists() { grep -q -- "$1" "$TMP/stdout"; }

complete() { "$COUNTER" begin 1 <"$1" >>"$TMP/log"; } # every packet from the first one on, up to the end of the file

# ---- without a service

sonda 2 record --detach x -c /dev/null
says 'no tracing service\|empty'
verdict "--detach without a service" $?
sonda 1 sessions && says 'no tracing service listens on' && sonda 1 status && sonda 1 snapshot && sonda 1 stop x && sonda 1 attach x
verdict "no service: exit code 1, and said" $?

start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" --output-dir "$TMP/out" && start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run 2000
verdict "service and producer start" $?
sonda 0 sessions && lists 'there are no sessions'
verdict "sessions: none" $?
sonda 1 snapshot && says 'no session is running, so there is nothing to snapshot'
verdict "snapshot: of nothing" $?

# ---- a session in the service's memory

write_counter_config ring
sonda 0 record --detach flight -c "$TMP/ring" && says 'use sonda snapshot flight and sonda stop flight'
verdict "record --detach: returns, and says how to go on" $?
sonda 1 record --detach flight -c "$TMP/ring" && says 'already exists'
verdict "record --detach: a name is taken once" $?
sonda 0 sessions && lists '^1 .* STARTED .* 64 MiB .* flight$'
verdict "sessions: it is there" $?
sonda 0 sessions --raw && protoc -I"$protos" --decode=perfetto.protos.TracingServiceState \
  "$protos/common/tracing_service_state.proto" <"$TMP/stdout" 2>>"$TMP/log" | grep -q 'unique_session_name: "flight"'
verdict "sessions --raw: the same for programs" $?
sonda 0 status --json && lists '"ds_descriptor":{"name":"sonda.test.counter"' && lists '"unique_session_name":"flight"' &&
  { ! command -v python3 >"$TMP/python" || python3 -m json.tool <"$TMP/stdout" >"$TMP/pretty" 2>>"$TMP/log"; }
verdict "status --json: and as JSON" $?
sonda 0 status && lists '^Service: sondad' && lists 'flight$' && lists 'sonda.test.counter .*sonda.test.producer (1)'
verdict "status: service, session, producer, data source" $?
sonda 0 snapshot -o a.pftrace && says '^Snapshot after .*: [0-9,]* packets, .* to a.pftrace' && complete a.pftrace
verdict "snapshot: the only session" $?
sonda 0 snapshot flight -q -o b.pftrace && [ ! -s "$TMP/log" ] && complete b.pftrace &&
  [ "$(stat -c %s b.pftrace)" -ge "$(stat -c %s a.pftrace)" ]
verdict "snapshot NAME: a later one has no less; -q" $?
sonda 0 snapshot 1 -o - && complete "$TMP/stdout"
verdict "snapshot NUMBER -o -" $?
sonda 1 snapshot 99 -o c.pftrace && says "cannot take a snapshot of '99': .*Tracing session not found; see sonda sessions" && [ ! -e c.pftrace ]
verdict "snapshot: a number that is none leaves no file" $?
sonda 1 snapshot --bugreport -o c.pftrace && says 'eligible'
verdict "snapshot --bugreport: no session has a score" $?
sonda 1 stop flight -o /nonexistent/x && says 'cannot write /nonexistent/x: .*; the session continues' &&
  sonda 0 snapshot flight -o c.pftrace && complete c.pftrace
verdict "stop: without a place for the trace the session goes on" $?
sonda 0 stop flight -o c.pftrace && says ' to c.pftrace' && complete c.pftrace
verdict "stop: the whole trace" $?
sonda 1 stop flight && says "this user has no detached session named 'flight'"
verdict "stop: once" $?

# ---- an output that cannot take all data

sonda 0 record --detach kept -c "$TMP/ring"
filled() { "$B/bin/sonda" snapshot kept -q -o c.pftrace 2>"$TMP/log" && [ "$(stat -c %s c.pftrace)" -gt 200000 ]; }
soon filled
(ulimit -f 64 && sonda 1 snapshot kept -o part.pftrace) && says 'cannot write all of part.pftrace: File too large' &&
  [ "$(stat -c %s part.pftrace)" -gt 32768 ]
verdict "snapshot: the limit of a file's size leaves a part of the trace, and a message" $?
keeps() { # FILE REASON
  says "file: the rest of the trace was not written" &&
    says "cannot write all of $1: $2; the session has ended and the service still holds the trace; save it with sonda stop kept -o OTHER-FILE"
}
(ulimit -f 64 && sonda 1 stop kept -o part.pftrace) && keeps part.pftrace 'File too large' && [ "$(stat -c %s part.pftrace)" -gt 32768 ]
verdict "stop: the limit of a file's size leaves a part of the trace, and the data in the service" $?
(ulimit -f 64 && sonda 1 stop kept -o part.pftrace) && keeps part.pftrace 'File too large'
verdict "stop: once more" $?
if unshare -rm true 2>/dev/null; then
  mkdir small
  # shellcheck disable=SC2016
  timeout 60 unshare -rm sh -c 'mount -t tmpfs -o size=64k none small && "$@"; s=$?; cp small/* part.pftrace; exit $s' \
    - "$B/bin/sonda" stop kept -o small/x >"$TMP/stdout" 2>"$TMP/log"
  [ $? = 1 ] && keeps small/x 'No space left on device' && [ "$(stat -c %s part.pftrace)" -gt 32768 ]
  verdict "stop: likewise a full disk" $?
fi
"$B/bin/sonda" stop kept -o - 2>"$TMP/log" | true
keeps 'the output' 'Broken pipe'
verdict "stop: likewise a pipe that is closed" $?
sonda 1 record --detach kept -c "$TMP/ring"
verdict "record --detach: the name is taken meanwhile" $?
sonda 0 stop kept -o whole.pftrace && complete whole.pftrace && [ "$(stat -c %s whole.pftrace)" -ge "$(stat -c %s c.pftrace)" ] &&
  sonda 0 sessions && lists 'there are no sessions'
verdict "stop: the whole trace of the session in another file" $?

# ---- one that the service writes into a file

write_counter_config file "write_into_file: true output_path: \"$TMP/out/file.pftrace\" file_write_period_ms: 100"
sonda 0 record --detach file -c "$TMP/file"
verdict "record --detach: a session that writes a file" $?
until [ -s file.pftrace ]; do sleep 0.05; done
sonda 0 snapshot file -o d.pftrace && complete d.pftrace
verdict "snapshot: what is in the file and in the buffers" $?
write_counter_config other
sonda 0 record --detach other -c "$TMP/other" && sonda 2 snapshot && says '2 sessions are running; name one'
verdict "snapshot: of two sessions one must be named" $?
sonda 0 stop file -o e.pftrace && says " to $TMP/out/file.pftrace" && [ ! -e e.pftrace ] &&
  complete file.pftrace
verdict "stop: what is in a file is there already" $?

# ---- bug reports

# The config in a trace has the name of its session.
ln -s "$B/bin/sonda" perfetto
mkdir reports
reports=(trace.pftrace trace.pftrace trace_1.pftrace trace.pftrace)
for k in "${!reports[@]}"; do
  write_counter_config report "bugreport_score: $((9 - k)) bugreport_filename: \"${reports[k]}\" unique_session_name: \"report$k\""
  sonda 0 record --detach "report$k" -c "$TMP/report"
done
TMPDIR=$PWD/reports ./perfetto --save-all-for-bugreport >"$TMP/stdout" 2>"$TMP/log"
saved=$(grep -oa 'report[0-3]' reports/{trace,trace_1,trace_1_1,trace_2}.pftrace | uniq | sed 's|.*/||' | tr '\n' ' ')
[ "$saved" = 'trace.pftrace:report0 trace_1.pftrace:report1 trace_1_1.pftrace:report2 trace_2.pftrace:report3 ' ] ||
  { echo "saved: $saved" >>"$TMP/log"; false; }
verdict "perfetto --save-all-for-bugreport: each session has a file of its own" $?
for k in "${!reports[@]}"; do sonda 0 stop "report$k" -o e.pftrace; done
rm e.pftrace

# ---- until its end

# On a busy machine the signal may come before it has attached, which leaves the session as it was.
for seconds in 1 5 20; do
  timeout -s INT $seconds "$B/bin/sonda" attach other -o f.pftrace >"$TMP/stdout" 2>"$TMP/log" </dev/null
  [ ! -e f.pftrace ] || break
done
complete f.pftrace
verdict "attach: Ctrl-C ends the session and saves it" $?
write_counter_config timed "write_into_file: true output_path: \"$TMP/out/timed.pftrace\" duration_ms: 4000"
sonda 0 record --detach timed -c "$TMP/timed" && sonda 0 attach timed && says " to $TMP/out/timed.pftrace" && says 'ended *duration reached' &&
  complete timed.pftrace
verdict "attach: waits for the end of the time" $?
write_counter_config timed 'duration_ms: 1000'
sonda 2 record --detach timed -c "$TMP/timed" && says 'no process would read the trace'
verdict "record --detach: a time needs a file" $?
sonda 2 record --detach x -c "$TMP/ring" -o x && sonda 2 record --detach x -c "$TMP/ring" -- true && sonda 2 record --detach= -c "$TMP/ring"
verdict "record --detach: no -o, no command, no empty name" $?

# ---- snapshots on triggers

write_counter_config snaps 'trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 triggers { name: "now" } }'
sonda 2 record --detach snaps -c "$TMP/snaps" && says 'no process would save the snapshots' && sonda 2 record -c "$TMP/snaps" -o -
verdict "CLONE_SNAPSHOT: neither --detach nor standard output" $?
echo mine >s.1.pftrace
"$B/bin/sonda" record -c "$TMP/snaps" -o s.pftrace >"$TMP/stdout" 2>"$TMP/log" </dev/null &
recorder=$!
soon says 'a snapshot is saved on trigger'
for k in 0 2 3; do
  "$B/bin/sonda" trigger now
  soon [ -s s.$k.pftrace ]
done
kill -INT $recorder
wait $recorder && says ': 3 snapshots$' && complete s.0.pftrace && complete s.2.pftrace && complete s.3.pftrace &&
  [ "$(cat s.1.pftrace)" = mine ] && [ ! -e s.pftrace ]
verdict "CLONE_SNAPSHOT: a file for each trigger, every packet in each, and no other file is overwritten" $?

# ---- a file that is passed

write_counter_config passed 'write_into_file: true file_write_period_ms: 100'
sonda 0 record --detach passed -c "$TMP/passed" -o p.pftrace && says 'the service writes the trace to p.pftrace' && sonda 0 stop passed &&
  complete p.pftrace
verdict "record --detach -o: the service writes on" $?

sonda 0 sessions && lists 'there are no sessions'
verdict "no session is left" $?
exit $BAD
