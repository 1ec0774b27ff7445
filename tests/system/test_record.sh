#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
#
# `sonda record` with our own sondad, without privileges: a producer of numbered packets, then private daemons that
# record names of processes. Exit codes, what is said, which files remain; nothing stays behind.
. "$(dirname "$0")/lib.sh"
mkdir "$TMP/out"
cd "$TMP/out" || exit 2

config() { # EXTRA TEXT...
  cat >"$TMP/config" <<CONFIG
data_sources { config { name: "sonda.test.counter" } }
producers { producer_name: "sonda.test.producer" shm_size_kb: 2048 page_size_kb: 32 }
flush_timeout_ms: 10000
$*
CONFIG
}

record() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  timeout 60 "$B/bin/sonda" record "$@" >"$TMP/stdout" 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}

files_are() { # NAMES...
  local left
  left=$(find . -mindepth 1 -printf '%P ')
  [ "$left" = "${*:+$* }" ] || { echo "files: $left" >>"$TMP/log"; return 1; }
}

# ---- a service and a producer

start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" &&
  start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run 2000
verdict "service and producer start" $? "$TMP/service.log"

config 'buffers { size_kb: 65536 fill_policy: DISCARD } duration_ms: 1500'
record 0 --strict -c "$TMP/config" -o a.pftrace && "$COUNTER" check 2000 <a.pftrace >>"$TMP/log"
verdict "a good recording: exit code 0, every packet in the file" $? "$TMP/log"
grep -q 'lost     nothing' "$TMP/log"
verdict "a good recording: nothing lost is reported" $? "$TMP/log"
[ "$(stat -c %a a.pftrace)" = 600 ] && files_are a.pftrace
verdict "a good recording: one file, its owner's" $? "$TMP/log"
rm -f a.pftrace

timeout 60 "$B/bin/sonda" record -c - -o - <"$TMP/config" 2>"$TMP/log" >"$TMP/piped" &&
  "$COUNTER" check 2000 <"$TMP/piped" >>"$TMP/log"
verdict "config from stdin, trace to stdout" $? "$TMP/log"
files_are
verdict "config from stdin, trace to stdout: no file" $? "$TMP/log"

# Binary config: the same recording.
protoc -I"$OLDPWD/protos" --encode=perfetto.protos.TraceConfig config/trace_config.proto \
  <"$TMP/config" >"$TMP/binary" 2>"$TMP/log" &&
  record 0 -c "$TMP/binary" -o a.pftrace && "$COUNTER" check 2000 <a.pftrace >>"$TMP/log"
verdict "a binary config" $? "$TMP/log"
rm -f a.pftrace

# ---- a command

config 'buffers { size_kb: 65536 fill_policy: DISCARD }'
record 0 --strict -c "$TMP/config" -o a.pftrace -- sh -c 'echo out; sleep 1.5; exit 3' &&
  [ "$(cat "$TMP/stdout")" = out ] && grep -q "^  ended    'sh' exited with code 3" "$TMP/log" && ! grep -q "^  command" "$TMP/log" &&
  "$COUNTER" check 2000 <a.pftrace >>"$TMP/log"
verdict "a command: as long as it runs, every packet in the file; its end is reported" $? "$TMP/log"
rm -f a.pftrace
record 1 -c "$TMP/config" -o a.pftrace -- ./nosuch && grep -q "cannot run './nosuch': No such file or directory" "$TMP/log" &&
  files_are
verdict "a command that does not exist: exit code 1, no file" $? "$TMP/log"
record 2 -c "$TMP/config" -o - -- touch ran && record 2 -c "$TMP/config" -- && files_are
verdict "a command whose output would mix with the trace; no command at all" $? "$TMP/log"

# ---- losses

config 'buffers { size_kb: 256 fill_policy: RING_BUFFER name: "small" } duration_ms: 1500'
record 0 -c "$TMP/config" -o a.pftrace
verdict "a ring that wraps: exit code 0" $? "$TMP/log"
grep -qE "lost +central buffer 'small' \(256 KiB\): the oldest .* were overwritten; try size_kb" "$TMP/log"
verdict "a ring that wraps: what was overwritten is reported" $? "$TMP/log"
record 3 --strict -q -c "$TMP/config" -o a.pftrace && files_are a.pftrace
verdict "a ring that wraps: exit code 3 with --strict, and the file is there" $? "$TMP/log"
[ ! -s "$TMP/log" ]
verdict "a ring that wraps: -q says nothing" $? "$TMP/log"
rm -f a.pftrace

config 'buffers { size_kb: 256 fill_policy: DISCARD } duration_ms: 1500'
record 3 --strict -c "$TMP/config" -o a.pftrace && grep -qE 'central buffer.*full: discarded the newest .* chunks' "$TMP/log"
verdict "a buffer that is full: what was discarded is reported" $? "$TMP/log"
rm -f a.pftrace

config 'buffers { size_kb: 65536 } duration_ms: 300 data_sources { config { name: "linux.nosuch" } }'
record 3 --strict -c "$TMP/config" -o a.pftrace && grep -q "no producer provides the data source 'linux.nosuch'" "$TMP/log"
verdict "a data source that no producer has" $? "$TMP/log"
rm -f a.pftrace

left_out() { # FIELD VALUE
  config 'buffers { size_kb: 65536 } duration_ms: 300'
  sed -i "s/^data_sources.*/data_sources { config { name: 'sonda.test.counter' } $1: '$2' }/" "$TMP/config"
  record 3 --strict -c "$TMP/config" -o a.pftrace &&
    grep -q "missing  data source 'sonda.test.counter' is not recorded: .* $1 \"$2\"" "$TMP/log"
  verdict "a data source that $1 leaves out" $? "$TMP/log"
  rm -f a.pftrace
}
left_out producer_name_filter no.producer
left_out producer_name_regex_filter 'sonda.*other'
left_out machine_name_filter elsewhere

# ---- signals

config 'buffers { size_kb: 65536 fill_policy: DISCARD }'
written() { grep -c 'all are written' "$TMP/producer.log"; }
# In the background, until the producer has written all of its packets: at most half a minute.
start_recorder() {
  local before i
  before=$(written)
  timeout 60 "$B/bin/sonda" record -c "$TMP/config" -o a.pftrace 2>"$TMP/log" &
  recorder=$!
  for ((i = 0; i < 300 && $(written) == before; i++)); do sleep 0.1; done
}
start_recorder
signal_recorder() { # SIGNAL: to the recorder, which is timeout's child
  kill "-$1" "$(cat /proc/$recorder/task/$recorder/children)"
}
signal_recorder INT
wait $recorder && "$COUNTER" check 2000 <a.pftrace >>"$TMP/log"
verdict "Ctrl-C: exit code 0, everything until then is in the file" $? "$TMP/log"
rm -f a.pftrace

# The producer does not answer, so the flush lasts; the second signal finds it.
kill -STOP "${PIDS[1]}"
timeout 60 "$B/bin/sonda" record -c "$TMP/config" -o a.pftrace 2>"$TMP/log" &
recorder=$!
sleep 2
signal_recorder TERM
while kill -0 $recorder 2>/dev/null; do # what comes at once is the same wish
  signal_recorder INT 2>/dev/null
  sleep 0.1
done
wait $recorder
[ $? = 1 ] && files_are && grep -q 'aborted' "$TMP/log"
verdict "a second signal: exit code 1, no file" $? "$TMP/log"
kill -CONT "${PIDS[1]}"

# Two at once, as a wrapper sends them.
start_recorder
signal_recorder STOP
signal_recorder INT
signal_recorder TERM
signal_recorder CONT
wait $recorder && "$COUNTER" check 2000 <a.pftrace >>"$TMP/log"
verdict "two signals at once are one wish: exit code 0, all is in the file" $? "$TMP/log"
rm -f a.pftrace

# ---- what goes wrong

config 'buffers { size_kb: 0 } duration_ms: 300'
record 1 -c "$TMP/config" -o a.pftrace && files_are && grep -q 'the tracing service aborted the session:' "$TMP/log"
verdict "a config that the service refuses: its reason, exit code 1, no file" $? "$TMP/log"

config 'buffers { size_kb: 65536 fill_policy: DISCARD } duration_ms: 1500'
record 1 -c "$TMP/config" -o /dev/full && grep -q 'No space left on device' "$TMP/log"
verdict "a full device: exit code 1, the reason" $? "$TMP/log"
(
  trap '' XFSZ
  ulimit -f 100 # KiB
  record 1 -c "$TMP/config" -o a.pftrace
) && [ "$(stat -c %s a.pftrace)" -gt 1000 ] && grep -q 'File too large' "$TMP/log" &&
  grep -q 'lost     file: the rest of the trace' "$TMP/log" &&
  protoc -I"$OLDPWD/protos" --decode=perfetto.protos.Trace trace/trace.proto <a.pftrace >/dev/null 2>>"$TMP/log"
verdict "no room for all of it: what is there can be read" $? "$TMP/log"
rm -f a.pftrace

echo 'buffers { size_kb: 64 } durations_ms: 5' >"$TMP/config"
record 2 -c "$TMP/config" -o a.pftrace && files_are &&
  grep -q 'config:1:25: error: .*duration_ms' "$TMP/log" && grep -q '\^' "$TMP/log"
verdict "a mistake in a config: where, and what was meant" $? "$TMP/log"
record 2 -t 5x sched && record 2 && record 2 -P sched,nosuch && record 2 --nonsense sched && files_are
verdict "usage errors: exit code 2" $? "$TMP/log"

timeout 60 "$B/bin/sonda" record -c - -o a.pftrace 2>"$TMP/log" <<<'buffers { size_kb: 64 } data_sources { config { name: "sonda.test.counter" } }' &
recorder=$!
sleep 2
kill -KILL "${PIDS[0]}"
wait "${PIDS[0]}" 2>/dev/null
wait $recorder
[ $? = 1 ] && files_are && grep -q 'the tracing service disconnected' "$TMP/log"
verdict "a service that dies: exit code 1, no file" $? "$TMP/log"
stop_all
rm -f "$TMP/producer" "$TMP/consumer"

record 1 --socket "$TMP/consumer" -t 1 -o a.pftrace sched && files_are && grep -q "no tracing service listens on $TMP/consumer" "$TMP/log"
verdict "a service that was named and is not there" $? "$TMP/log"

# ---- whatever is typed

quiet() { ! LC_ALL=C grep -qP '[^\n -~]' "$TMP/log"; } # nothing but letters on the terminal
long=$(printf '%0120000d' 0 | tr 0 7)
record 2 -o a.pftrace "$long" && record 2 -t "$long" sched && record 2 "--$long" sched && record 2 -C "$long" sched &&
  record 1 --socket "$TMP/consumer" -o "$long" sched && record 1 --socket "$TMP/consumer" -o a.pftrace sched --filter "$long" &&
  [ "$(wc -c <"$TMP/log")" -lt 2000 ] && files_are
verdict "arguments of any length" $? "$TMP/log"
many=(sched_switch) # without one that there is it would not get as far
for i in $(seq 10000); do many+=(-e "no/such$i"); done
record 1 --socket "$TMP/consumer" -o a.pftrace "${many[@]}" && files_are
verdict "ten thousand events" $? "$TMP/log"
record 2 -o a.pftrace $'a\e[2Jb' && quiet && record 2 $'--\e]0;x\a' && quiet && record 2 sched --trigger $'\xc2\x9bJ' && quiet &&
  record 2 -c $'no\rsuch' && quiet && record 1 -o $'/no\esuch/a' sched && quiet && record 2 -p 2147483647 $'s\xffched' && quiet &&
  files_are
verdict "control characters: the terminal sees none" $? "$TMP/log"

# ---- private daemons, which need no rights for this

export TMPDIR=$TMP/private
mkdir "$TMPDIR"
cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 4096 }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
CONFIG
record 0 --strict -c "$TMP/config" -o a.pftrace -- true && grep -qE '[1-9][0-9]* processes' "$TMP/log" && files_are a.pftrace
verdict "private daemons: names of processes" $? "$TMP/log"
! grep -q 'no tracing service' "$TMP/log" && grep -q '^  cost .* s of CPU for a private sondad and sonda-probes' "$TMP/log"
verdict "private daemons: the summary has their cost" $? "$TMP/log"
rm -f a.pftrace
# What a recording of its own lets others see: the mode of the directory of its sockets.
record 0 -c "$TMP/config" -o a.pftrace -- sh -c 'stat -c %a "$TMPDIR"/sonda-* >"$0"' "$TMP/mode" && [ "$(cat "$TMP/mode")" = 700 ]
verdict "private daemons: no other user reaches their sockets" $? "$TMP/log"
rm -f a.pftrace
[ -z "$(find "$TMPDIR" -mindepth 1)" ]
verdict "private daemons: no directory is left" $?
record 0 -q -c "$TMP/config" -- true && [ "$(find . -regextype egrep -regex './trace-.*-[0-9]{8}T[0-9]{6}-[0-9a-f]{6}\.pftrace' | wc -l)" = 1 ] && [ ! -s "$TMP/log" ]
verdict "private daemons: without -o the file names host and time" $? "$TMP/log"
rm -f trace-*.pftrace
exit $BAD
