#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every way out tells the same: a service that is stopped under a recording, one that its file ends, rotated files, stop,
# attach and snapshot end with the summary, for people and as JSON, and with the reason of the end. With our own sondad
# and a producer of numbered packets.
. "$(dirname "$0")/lib.sh"
# Shown by verdict.
# shellcheck disable=SC2034
details() { cat "$TMP/stdout" "$TMP/log" "$TMP/service.log"; }
mkdir "$TMP/out"
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
says() { grep -qE -- "$1" "$TMP/log"; }
json() { # JQ-LIKE TEXT...: each stands in the JSON
  local text
  [ "$(wc -l <"$TMP/stdout")" = 1 ] || return 1
  ! command -v python3 >"$TMP/python" || python3 -m json.tool <"$TMP/stdout" >"$TMP/pretty" 2>>"$TMP/log" || return 1
  for text; do grep -qF -- "$text" "$TMP/stdout" || { echo "no $text" >>"$TMP/log"; return 1; }; done
}
complete() { "$COUNTER" begin 1 <"$1" >>"$TMP/log"; } # every packet from the first one on, up to the end of the file
begin() {
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" --output-dir "$TMP/out" && SERVICE=${PIDS[-1]} &&
    start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run 2000 && PRODUCER=${PIDS[-1]}
}
in_background() { # ARGS...
  "$B/bin/sonda" "$@" >"$TMP/stdout" 2>"$TMP/log" </dev/null &
  CLIENT=$!
}
runs() { "$B/bin/sonda" sessions 2>/dev/null | grep -q STARTED; }
stopped() { # the service is reported to end; the exit code is the client's
  kill "$SERVICE"
  wait "$CLIENT"
}
gone() { wait "$SERVICE" && ! kill -0 "$SERVICE" 2>/dev/null; }

begin
verdict "service and producer start" $?

# ---- a service that is stopped

write_counter_config ring
in_background record -c "$TMP/ring" -o a.pftrace
soon runs
stopped
[ $? = 1 ] && says 'the tracing service aborted the session: the tracing service was stopped' && says 'ended *the tracing service aborted the session: .*stopped' &&
  says '^Recorded .* packets, .* to a.pftrace' && complete a.pftrace && gone
verdict "record: a service that is stopped is no success, says so, and the trace until then is kept" $?
stop_all
begin
sonda 0 record --detach left -c "$TMP/ring"
in_background attach left -o b.pftrace
opened() { ls -A | grep -q "b.pftrace"; }
soon opened # by one that is attached
stopped
[ $? = 1 ] && says 'the tracing service aborted the session: the tracing service was stopped' && complete b.pftrace && gone
verdict "attach: likewise" $?
stop_all
begin
write_counter_config file "write_into_file: true output_path: \"$TMP/out/c.pftrace\" file_write_period_ms: 100"
in_background record -c "$TMP/file" --json
soon runs
stopped
[ $? = 1 ] && says 'the tracing service was stopped' && complete c.pftrace && gone &&
  json '"end":"the tracing service aborted the session: the tracing service was stopped"' '"output":"'"$TMP/out/c.pftrace"'"'
verdict "record: likewise when the service writes the file, and as JSON" $?
stop_all
begin
sonda 0 record --detach lost -c "$TMP/ring" && kill "$SERVICE" && gone && grep -q 'discarding the trace of session 1 lost: ' "$TMP/service.log"
verdict "sondad: warns of a session that no consumer is attached to" $?
stop_all
begin
sonda 0 record --detach kept -c "$TMP/ring"
filled() { "$B/bin/sonda" snapshot kept -q -o b.pftrace 2>"$TMP/log" && [ "$(stat -c %s b.pftrace)" -gt 100000 ]; }
soon filled
(ulimit -f 16 && sonda 1 stop kept -o b.pftrace)
kill "$SERVICE" && gone && grep -q 'discarding the trace of session [0-9]* kept: ' "$TMP/service.log"
verdict "sondad: and of one whose data sonda stop left there" $?
stop_all
begin
kill "$SERVICE" && gone
verdict "sondad: without sessions it ends at once" $?
stop_all
begin

# ---- sources that went away

sonda 0 record --detach watched -c "$TMP/ring"
kill -KILL "$PRODUCER"
departed() { "$B/bin/sonda" sessions >"$TMP/stdout" 2>"$TMP/log" && grep -q "sonda.test.counter: sonda.test.producer (pid $PRODUCER) disconnected at [0-9:]*$" "$TMP/stdout"; }
soon departed
verdict "sessions: a producer that was killed is shown, with when" $?
sonda 0 snapshot watched --json -o d.pftrace && json '"goes_on":true' \
  "\"departures\":[{\"data_source\":\"sonda.test.counter\",\"producer\":\"sonda.test.producer\",\"pid\":$PRODUCER,\"gone_s\":"
verdict "snapshot --json: and when, from the start on" $?
start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run 2000
back() { "$B/bin/sonda" sessions 2>"$TMP/log" | tee "$TMP/stdout" | grep -q 'another producer replaced it at [0-9:]*$'; }
soon back
verdict "sessions: and that another one took its place" $?
sonda 0 stop watched --json -o e.pftrace && json '"end":"sonda stop"' '"back_s":' '"times":1' '"goes_on":false'
verdict "stop --json: likewise" $?

# ---- files that the service writes

write_counter_config rotate "write_into_file: true output_path: \"$TMP/out/r.pftrace\" file_write_period_ms: 100
duration_ms: 3500 rotate { period_ms: 1000 keep: 3 }"
echo other >r.000001.pftrace
sonda 0 record -c "$TMP/rotate" && says '^Recorded [0-9.]+ s.*: [0-9,]* packets, .* to .*r.00000[0-9].pftrace and the following files' &&
  says 'ended *duration reached' && says 'lost *nothing'
verdict "record with rotate: the summary of all files that are left" $?
first=$(ls "$TMP"/out/r.*.pftrace | sed -n 2p) # the first one is older
says "to $first and the following files" && says "^next *sonda report $first\$"
verdict "record with rotate: the next command names the first file that is left" $?
# A longer session before had more files.
cp "$(ls "$TMP"/out/r.*.pftrace | tail -n 1)" "$TMP/out/r.000009.pftrace"
touch -d '1 hour ago' "$TMP/out/r.000009.pftrace"
touch "$TMP/between"
sonda 0 record -c "$TMP/rotate" --json
bytes=$(find . -name 'r.*.pftrace' -newer "$TMP/between" -exec cat {} + | wc -c)
[ "$bytes" -gt 0 ] && json '"end":"duration reached"' "\"file_bytes\":$bytes,"
verdict "record with rotate --json: of this session's files only" $?
write_counter_config size "write_into_file: true output_path: \"$TMP/out/s.pftrace\" file_write_period_ms: 100 max_file_size_bytes: 300000"
sonda 0 record -c "$TMP/size" && says 'ended *max_file_size_bytes reached' && complete s.pftrace
verdict "record: the size of the file ends it, and is reported" $?
write_counter_config timed "write_into_file: true output_path: \"$TMP/out/t.pftrace\" duration_ms: 500"
sonda 0 record --detach timed -c "$TMP/timed" && sonda 0 stop timed --json && json "\"output\":\"$TMP/out/t.pftrace\"" '"read":true'
verdict "stop --json: of a file that the service writes" $?
write_counter_config passed 'write_into_file: true file_write_period_ms: 100'
sonda 0 record --detach passed -c "$TMP/passed" -o p.pftrace && sonda 0 stop passed && says 'the service wrote the trace to the file given when the session was started' &&
  says 'lost *not known: the trace was not read here'
verdict "stop: of a file that only the service knows, nothing is said that is not known" $?

# ---- triggers, discarded data, --strict

write_counter_config trigger 'trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000 triggers { name: "enough" } }'
in_background record -c "$TMP/trigger" -o f.pftrace
soon runs
"$B/bin/sonda" trigger enough
wait "$CLIENT" && says "ended *trigger 'enough' of sonda"
verdict "record: the trigger that ended it is reported" $?
cat >"$TMP/full" <<CONFIG
buffers { size_kb: 64 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" } }
CONFIG
sonda 0 record --detach full -c "$TMP/full"
filled() { sonda 3 snapshot full --strict -o g.pftrace; }
soon filled && says 'lost *central buffer \(64 KiB\): full: discarded the newest [0-9,]* chunks; try -b'
verdict "snapshot --strict: what a full buffer discarded, what helps, and exit code 3" $?
sonda 3 stop full --strict --json -o g.pftrace &&
  json '"place":"central buffer (64 KiB)","count":' '"unit":"chunks"' '"advice":"try -b ' '"lossy":true'
verdict "stop --strict --json: likewise" $?
sonda 2 stop full --json -o - && sonda 2 snapshot --json -o - && sonda 2 record -c "$TMP/ring" --json -o -
verdict "--json: not beside the trace on standard output" $?

# ---- what cannot record anything

echo 'buffers { size_kb: 64 }' >"$TMP/none"
sonda 2 record -c "$TMP/none" && says 'has no data_sources: nothing to record' && ! ls trace-* 2>/dev/null
verdict "record: a config without a data source is refused at once" $?
sonda 2 record --syscalls -o x sched && says "--syscalls needs a value, but '-o' follows" && sonda 2 stop -o --socket x
verdict "an option's value that is an option is not swallowed" $?

# ---- the command's exit code

write_counter_config short ''
sonda 7 record --exit-code -c "$TMP/short" -o h.pftrace -- sh -c 'exit 7' && says "ended *'sh' exited with code 7" &&
  [ -s h.pftrace ] && sonda 0 record --exit-code -c "$TMP/short" -o h.pftrace -- true &&
  sonda 143 record --exit-code -c "$TMP/short" -o h.pftrace -- sh -c 'kill $$' && sonda 0 record -c "$TMP/short" -o h.pftrace -- false &&
  sonda 2 record --exit-code -c "$TMP/short" -o h.pftrace
verdict "record --exit-code: the command's, else 0" $?

# ---- a signal between the opening of the sockets and the loop

preload=$B/tests/system/preload/signal_at_bind.so
if ! ldd "$B/bin/sondad" | grep -q san; then # a sanitizer has to be loaded first
  for n in 1 2; do
    export PERFETTO_PRODUCER_SOCK_NAME=$TMP/early/producer PERFETTO_CONSUMER_SOCK_NAME=$TMP/early/consumer
    mkdir "$TMP/early"
    SIGNAL_AT_BIND=$n LD_PRELOAD=$preload timeout 20 "$B/bin/sondad" >"$TMP/log" 2>&1 && ! ls "$TMP/early/"* 2>>"$TMP/none.log" && rmdir "$TMP/early"
    verdict "sondad: SIGTERM as soon as socket $n is bound ends it well and leaves no socket" $?
  done
fi

exit $BAD
