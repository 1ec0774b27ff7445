#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# `sonda record` on the real kernel, with private daemons: good ends, Ctrl-C, and every way a process can be killed.
# However it ends, tracefs is as it was found and no daemon is left.
. "$(dirname "$0")/lib.sh"

# Another program traces at top level during the whole test.
echo 1 >$TRACEFS/events/irq/softirq_raise/enable
restore() {
  echo 0 >$TRACEFS/events/irq/softirq_raise/enable
  leave
}
trap '[ "$BASHPID" != $$ ] || restore' EXIT
picture >"$TMP/before"

as_found() { # AFTER WHAT
  wait_for no_instances
  verdict "$1: no instance is left" $?
  picture >"$TMP/after"
  diff "$TMP/before" "$TMP/after" >"$TMP/diff"
  verdict "$1: tracefs is as it was found" $? "$TMP/diff"
}

daemons_of() { # PID: its children's pids
  cat "/proc/$1/task/$1/children" 2>/dev/null
}

gone() { # PID...
  local p
  for p; do [ ! -e "/proc/$p" ] || return 1; done
}

# ---- a good end

"$BIN/sonda" record -t 1s -o "$TMP/a" sched >"$TMP/log" 2>&1
verdict "1 s of scheduling: exit code 0" $? "$TMP/log"
is_whole "$TMP/a" && [ "$(events_in "$TMP/a")" -gt 50 ]
verdict "1 s of scheduling: events are in the trace" $? "$TMP/log"
grep -qE '^ *events +sched [1-9]' "$TMP/log"
verdict "1 s of scheduling: the summary counts events by group" $? "$TMP/log"
[ "$(stat -c %a "$TMP/a")" = 600 ]
verdict "1 s of scheduling: the trace is the owner's alone" $?
as_found "1 s of scheduling"

"$BIN/sonda" record -t 500ms -o - sched 2>"$TMP/log" >"$TMP/b"
is_whole "$TMP/b"
verdict "-o -: the trace is on stdout" $? "$TMP/log"

# ---- signals

# Some of it is in the file.
has_events() { [ "$(events_in "$out")" -gt 20 ]; }
start_recording() { # OUT ARGS...
  local out=$1
  shift
  "$BIN/sonda" record -o "$out" "$@" sched >"$TMP/log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=("$recorder")
  wait_for we_record
  wait_for has_events
}

start_recording "$TMP/c" -t 60s
daemons=$(daemons_of $recorder)
kill -TERM $recorder
wait $recorder
verdict "first signal: stops and saves, exit code 0" $? "$TMP/log"
is_whole "$TMP/c" && [ "$(events_in "$TMP/c")" -gt 20 ]
verdict "first signal: events are in the trace" $? "$TMP/log"
# shellcheck disable=SC2086
wait_for gone $daemons
verdict "first signal: the daemons are gone" $?
as_found "first signal"

start_recording "$TMP/d" -t 60s
daemons=$(daemons_of $recorder)
kill -KILL $recorder
wait $recorder 2>/dev/null
# shellcheck disable=SC2086
wait_for gone $daemons
verdict "kill -9 of sonda: the daemons are gone" $?
is_whole "$TMP/d" && [ "$(events_in "$TMP/d")" -gt 20 ]
verdict "kill -9 of sonda: what was recorded is kept, and whole" $?
as_found "kill -9 of sonda"

# ---- daemons that die

child() { # PARENT NAME: its child of that name
  local p
  for p in $(daemons_of "$1"); do
    case $(tr '\0' ' ' <"/proc/$p/cmdline") in *"$2 "*) echo "$p" ;; esac
  done
}

start_recording "$TMP/e" -t 60s
kill -KILL "$(child $recorder sondad)"
wait $recorder
[ $? = 1 ]
verdict "kill -9 of sondad: exit code 1" $? "$TMP/log"
is_whole "$TMP/e"
verdict "kill -9 of sondad: what was written is kept" $? "$TMP/log"
as_found "kill -9 of sondad"

start_recording "$TMP/f" -t 60s
kill -KILL "$(child $recorder sonda-probes)"
wait $recorder
[ $? = 1 ]
verdict "kill -9 of sonda-probes: exit code 1" $? "$TMP/log"
grep -q 'sonda-probes was killed by signal 9' "$TMP/log"
verdict "kill -9 of sonda-probes: the reason is reported" $? "$TMP/log"
grep -qE 'lost .*perfetto.traced_probes \(pid [0-9]+\) disconnected' "$TMP/log"
verdict "kill -9 of sonda-probes: the loss is reported" $? "$TMP/log"
is_whole "$TMP/f"
verdict "kill -9 of sonda-probes: what was handed over is saved" $? "$TMP/log"
# The start of a sonda-probes of another test may have removed the instance meanwhile.
our_instances || echo "# its instance is gone already"
"$BIN/sonda" record -t 500ms -o "$TMP/g" sched >"$TMP/log" 2>&1
verdict "after it: the next recording is good" $? "$TMP/log"
as_found "after it: the next start cleaned up"

# ---- what is wrong is said

"$BIN/sonda" record -t 500ms -o "$TMP/h" sched/sched_swich sched_wakeup_new >"$TMP/log" 2>&1
verdict "an event that does not exist: exit code 0 without --strict" $? "$TMP/log"
grep -q 'sched/sched_swich.*sched/sched_switch' "$TMP/log"
verdict "an event that does not exist: named, with the nearest" $? "$TMP/log"
"$BIN/sonda" record --strict -t 500ms -o "$TMP/h" sched/sched_swich sched_wakeup_new >"$TMP/log" 2>&1
[ $? = 3 ]
verdict "an event that does not exist: exit code 3 with --strict" $? "$TMP/log"

# ---- a full disk

mkdir "$TMP/small"
if mount -t tmpfs -o size=8k none "$TMP/small" 2>/dev/null; then
  # From before the recording's start to its end, however long the daemons take.
  "$B/tests/root/ping_pong" 10000000 &
  load=$!
  PIDS+=("$load")
  "$BIN/sonda" record -b 32mb -t 2s -o "$TMP/small/trace" sched >"$TMP/log" 2>&1
  status=$?
  kill $load
  wait $load 2>/dev/null
  [ $status = 1 ]
  verdict "a full disk: exit code 1" $? "$TMP/log"
  grep -qi 'no space' "$TMP/log"
  verdict "a full disk: the reason is reported" $? "$TMP/log"
  is_whole "$TMP/small/trace"
  verdict "a full disk: the trace written so far is whole" $? "$TMP/log"
  "$BIN/sonda" info "$TMP/small/trace" >"$TMP/info" 2>&1
  counted() { sed -nE '1,/^Recorded/s/^Recorded [^:]*: (.*) to .*/\1/p' "$1"; }
  [ -n "$(counted "$TMP/info")" ] && [ "$(counted "$TMP/log" | head -n 1)" = "$(counted "$TMP/info")" ]
  verdict "a full disk: the summary counts what is in the file, as sonda info does" $? "$TMP/log"
  umount "$TMP/small"
fi

# ---- without root

if command -v setpriv >/dev/null; then
  chmod 755 "$TMP"
  mkdir -m 777 "$TMP/open"
  cp "$BIN"/sonda* "$TMP/open"
  setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$TMP/open/sonda" record -t 1s -o "$TMP/open/trace" sched >"$TMP/log" 2>&1
  [ $? = 1 ]
  verdict "without root: exit code 1" $? "$TMP/log"
  grep -qE '/sys/kernel/tracing.*(root|gid)' "$TMP/log"
  verdict "without root: which file was refused, and what would allow it" $? "$TMP/log"
  [ ! -e "$TMP/open/trace" ]
  verdict "without root: no output file" $?
fi
exit $BAD
