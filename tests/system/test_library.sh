#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# libsonda with sondad: programs that see its headers and its shared library only (tests/library) write numbered packets
# while sonda records. Every packet that was not counted as dropped is in the trace once, in order and whole, whatever
# becomes of threads, children and the process.
. "$(dirname "$0")/lib.sh"
P=$B/tests/library CHECK=$B/tests/system/library_check
for program in "$P/threads" "$P/life" "$P/dlopen" "$CHECK"; do
  [ -x "$program" ] || { echo "$program is not built" >&2; exit 77; }
done
sanitized() { nm -D "$P/life" | grep -q "__$1_"; }
# A child after fork() keeps what the parent's connection had.
export ASAN_OPTIONS=detect_leaks=0

cat >"$TMP/config" <<CONFIG
buffers { size_kb: 262144 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.numbers" } }
flush_timeout_ms: 10000
CONFIG

said() { # LINE FILE: waits for it, as long as the program runs
  while ! grep -qs "^$1" "$2"; do
    kill -0 "$program" 2>/dev/null || grep -qs "^$1" "$2" || return 1
    sleep 0.01
  done
}

program=
run() { # PROGRAM ARGUMENTS...: records until it says "done"; its output is $TMP/said, its status $status
  local recorder
  rm -f "$TMP/said" # else the lines of the program before are there until the shell's child opens it
  "$@" >"$TMP/said" 2>"$TMP/errors" &
  program=$!
  said ready "$TMP/said" || { wait $program; status=$?; return; }
  "$B/bin/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/record.log" 2>&1 &
  recorder=$!
  said "done" "$TMP/said"
  kill -TERM $recorder
  wait $recorder
  wait $program
  status=$?
}

complete() { # the trace has what the program expects
  local want
  "$CHECK" "$TMP/trace" >"$TMP/found" || return 1
  want=$(awk '$1 == "expect" { print $2 } $1 == "called" { print $2 - $4 }' "$TMP/said")
  [ "$want" ] && [ "$want" = "$(awk '$1 == "packets" { print $2 }' "$TMP/found")" ]
}

written() { # NAME STATUS PROGRAM ARGUMENTS...
  local name=$1 expected=$2
  shift 2
  run "$@"
  [ "$status" = "$expected" ] && complete
  verdict "$name" $? "$TMP/said" "$TMP/errors" "$TMP/found" "$TMP/record.log"
}

start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" || exit 1
events=250000
if sanitized tsan || sanitized asan; then events=5000; fi
events=${EVENTS:-$events}
written "8 threads that drop: what came and what was dropped is what was written" 0 "$P/threads" 8 $events drop
grep -q "dropped $(awk '$1 == "called" { print $4 }' "$TMP/said")$" "$TMP/found"
verdict "8 threads that drop: the trace says how many packets are missing" $? "$TMP/said" "$TMP/found"
written "8 threads that wait: all comes" 0 "$P/threads" 8 $events stall
grep -q 'dropped 0$' "$TMP/said"
verdict "8 threads that wait: nothing is dropped" $? "$TMP/said"
written "1,000 threads that live a millisecond" 0 "$P/life" short-threads
written "400 threads that are cancelled while they write: nothing is lost, no other thread waits for them" 0 "$P/life" cancel
if ! sanitized tsan && ! sanitized asan; then # neither follows what a thread does in pthread_exit()
  written "threads that end within a packet: it has the fields so far, and the session ends" 0 "$P/life" cancel-inside
fi
if ! sanitized tsan; then # which cannot follow a child with threads
  written "fork() while threads write: the parent's trace is whole; a child that connects has its own" 0 "$P/life" fork
  written "fork() within a packet: nothing of the child is in the trace" 0 "$P/life" fork-inside
fi
written "exit() hands over what was written" 0 "$P/life" exit
written "SIGKILL loses nothing that was written" 137 "$P/life" kill
written "SIGKILL before the start is answered: the recording ends" 137 "$P/life" kill-at-start
written "events in signal handlers are written, or counted" 0 "$P/life" signals
written "a flush and a stop that are answered later" 0 "$P/life" late-answers
written "a data source that is unregistered and registered again while a session runs" 0 "$P/life" reregister
if ! sanitized tsan && ! sanitized asan; then # the plugin would bring a second sanitizer
  written "1,100 times loaded with a plugin, and unloaded" 0 "$P/dlopen" "$P/plugin/plugin.so" 1100 run
  "$P/dlopen" "$B/lib/libsonda.so.0" 1000 >"$TMP/said" 2>"$TMP/errors"
  verdict "loading the library starts no thread and opens nothing" $? "$TMP/errors"
  "$P/dlopen" "$B/lib/libsonda-service.so.0" 1000 >"$TMP/said" 2>"$TMP/errors"
  verdict "loading libsonda-service starts no thread and opens nothing" $? "$TMP/errors"
fi

"$P/sessions" "$TMP/trace" >"$TMP/said" 2>"$TMP/errors" && complete
verdict "a program that records itself through a session" $? "$TMP/said" "$TMP/errors" "$TMP/found"

# The ninth does not record, and neither its start nor its stop waits for anything.
one=$(grep data_sources "$TMP/config")
cp "$TMP/config" "$TMP/one"
for _ in 2 3 4 5 6 7 8 9; do echo "$one"; done >>"$TMP/config"
written "of nine instances eight record" 0 "$P/life" nine
grep -q '^expect 800 ' "$TMP/said" && grep -q 'too many sessions' "$TMP/errors" && ! grep -qE 'not (start|stop)' "$TMP/record.log"
verdict "the ninth is reported, and answers" $? "$TMP/said" "$TMP/errors" "$TMP/record.log"

mv "$TMP/one" "$TMP/config"

# Without a service, and with one that comes back.
stop_all
rm -f "$TMP/said"
"$P/life" exit >"$TMP/said" 2>"$TMP/errors" &
program=$!
wakeups() { # how often its threads have waited
  cat "/proc/$program"/task/*/status | awk '/^voluntary_ctxt/ { n += $2 } END { print n }'
}
before=$(wakeups)
for i in $(seq 2000); do : >"$TMP/flood$i"; done
[ "$before" ] && woken=$(($(wakeups) - before)) && [ $woken -lt 100 ]
verdict "2,000 new files in the directory of the socket wake a program that waits for a service a few times" $?
rm -f "$TMP"/flood*
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" && said ready "$TMP/said"
verdict "a program that was there before the service is connected" $? "$TMP/said" "$TMP/errors"
stop_all
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad"
"$B/bin/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/record.log" 2>&1 &
recorder=$!
said "done" "$TMP/said"
kill -TERM $recorder
wait $recorder
wait $program && complete
verdict "a service that was killed and comes back records" $? "$TMP/said" "$TMP/errors" "$TMP/found" "$TMP/record.log"

# What the library is made of.
needed=$(readelf -d "$B/lib/libsonda.so.0" | awk '/NEEDED/ { print $NF }' | grep -v '^\[libc\.so\.6\]$\|^\[ld-linux\|san\.so')
verdict "libsonda.so needs the C library only${needed:+, and $needed}" "${#needed}"
for library in libsonda libsonda-service; do
  others=$(nm -D --defined-only "$B/lib/$library.so.0" | awk '$3 !~ /^sonda_/ && $2 != "A" { print $3 }')
  verdict "$library.so exports sonda_* only${others:+, and $others}" "${#others}"
  others=$(nm -g --defined-only "$B/lib/$library.a" | awk 'NF == 3 && $3 !~ /^sonda_/ { print $3 }')
  verdict "$library.a defines sonda_* only${others:+, and $others}" "${#others}"
done
if ! sanitized tsan && ! sanitized asan; then
  strip -o "$TMP/stripped" "$B/lib/libsonda.so.0"
  [ "$(stat -c %s "$TMP/stripped")" -le 250000 ]
  verdict "libsonda.so has at most 250 kB" $?
fi
echo "1..$N"
exit $BAD
