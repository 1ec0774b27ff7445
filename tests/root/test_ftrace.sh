#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10
#
# linux.ftrace on the real kernel, without a service: what the kernel says it handed out is in the trace, what it lost
# is reported, and tracefs is left as it was found, however the recording ends.
. "$(dirname "$0")/lib.sh"

record=$B/tests/root/ftrace_record
busy="$B/tests/root/ping_pong 5000"

run() { # NAME MS CONFIG [COMMAND...]: a recording; its report in $TMP/NAME.out
  local name=$1 ms=$2 config=$3
  shift 3
  timeout 60 "$record" "$TMP/$name.trace" "$ms" "$config" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
}

# Fields of the report's lines, by the name before them, summed over the CPUs.
sum() { # NAME FIELD
  awk -v field="$2" '$1 == "cpu" { for (i = 3; i < NF; i += 2) if ($i == field) n += $(i + 1) } END { print n + 0 }' \
    "$TMP/$1.out"
}

# Every event that left a ring is in the trace, CPU by CPU, and none stayed behind.
complete() { # NAME
  awk '$1 == "cpu" { n++; if ($4 != $6 || $8 != 0) bad = 1; events += $4 }
    END { exit !(n && !bad && events) }' "$TMP/$1.out"
}

run columns 300 'ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking"' $busy && complete columns &&
  [ "$(sum columns events)" -gt 1000 ] && [ "$(sum columns errors)" = 0 ]
verdict "columns: every event that the kernel handed out" $? "$TMP/columns.out"
[ "$(sum columns overrun)" = 0 ] && [ "$(sum columns gaps)" = 0 ]
verdict "columns: nothing lost with the default ring" $? "$TMP/columns.out"

run events 300 'ftrace_events: "sched/*" ftrace_events: "irq/*" ftrace_events: "raw_syscalls/*" ftrace_events: "timer/*"
  ftrace_events: "syscalls/*" compact_sched { enabled: false } buffer_size_kb: 32768' $busy && complete events &&
  [ "$(sum events errors)" = 0 ] && ! grep -qE '^(status|failed|unknown|problem)' "$TMP/events.out"
verdict "events of hundreds of formats, known and generic: all of them" $? "$TMP/events.out"

run legacy 200 'ftrace_events: "sched/*" ftrace_events: "rcu/*" denser_generic_event_encoding: false' && complete legacy
verdict "the older encoding of generic events: all of them" $? "$TMP/legacy.out"

run lossy 300 'ftrace_events: "sched/*" buffer_size_kb: 64 drain_period_ms: 60000' $busy && complete lossy &&
  [ "$(sum lossy overrun)" -gt 0 ] && [ "$(sum lossy gaps)" -gt 0 ] &&
  [ "$(sum lossy lost)" -le "$(sum lossy overrun)" ]
verdict "a ring that is too small: what is left is there, the gaps are marked" $? "$TMP/lossy.out"

run marker 100 'ftrace_events: "print"' sh -c "echo 'a marker $$' >$TRACEFS/trace_marker"
[ "$(grep -ac "a marker $$" "$TMP/marker.trace")" = 1 ]
verdict "a marker of the top level comes once" $? "$TMP/marker.out"

run raw 200 'ftrace_events: "sched:sched_switch" use_monotonic_raw_clock: true' && complete raw
verdict "another clock" $? "$TMP/raw.out"

run names 100 'ftrace_events: "sched_switch" ftrace_events: "sched:sched_waking" ftrace_events: "nope/nope"
  ftrace_events: "nope" ftrace_events: "ftrace/function"' && complete names &&
  [ "$(grep -c '^unknown nope' "$TMP/names.out")" = 2 ] && grep -q '^failed ftrace/function (' "$TMP/names.out"
verdict "names of each form; what is not to be had is reported" $? "$TMP/names.out"

METADATA=1 run threads 300 'ftrace_events: "sched/sched_switch" ftrace_events: "task/task_rename"' sh -c 'true; true; exec sleep 0.1' &&
  [ "$(awk '$1 == "tids" { print $2 }' "$TMP/threads.out")" -gt 2 ] &&
  [ "$(awk '$1 == "tids" { print $4 }' "$TMP/threads.out")" -gt 0 ]
verdict "threads and new names are reported to the session" $? "$TMP/threads.out"

# Two at once, one of which ends first.
run first 800 'ftrace_events: "sched/sched_switch"' &
PIDS+=($!)
run second 200 'ftrace_events: "irq/*" ftrace_events: "sched/sched_waking"' && complete second
verdict "two sessions: the second is whole" $? "$TMP/second.out"
wait "${PIDS[-1]}" && complete first
verdict "two sessions: and the first" $? "$TMP/first.out"
unset 'PIDS[-1]'

# ---- how it ends ----

instance_of() { [ -n "$(find $TRACEFS/instances -maxdepth 1 -name "sonda-$1-*")" ]; }

top_level >"$TMP/before"
"$record" "$TMP/term.trace" 60000 'ftrace_events: "sched/*" ftrace_events: "print"' >"$TMP/term.out" 2>&1 &
PIDS+=($!)
wait_for instance_of $!
verdict "a session has an instance of its own" $?
records() { # PID; a new instance is on, too, while the session sets it up
  local i
  i=$(echo $TRACEFS/instances/sonda-"$1"-*)
  [ "$(cat "$i/tracing_on" "$i/events/sched/sched_switch/enable")" = "1
1" ]
}
wait_for records "${PIDS[-1]}"
true | cat # makes a thread run
kill -TERM "${PIDS[-1]}"
wait "${PIDS[-1]}" && complete term
verdict "SIGTERM: the rings to the end" $? "$TMP/term.out"
! instance_of "${PIDS[-1]}" && top_level | diff "$TMP/before" - >"$TMP/diff"
verdict "SIGTERM: tracefs as it was" $? "$TMP/diff"
unset 'PIDS[-1]'

"$record" "$TMP/kill.trace" 60000 'ftrace_events: "sched/*"' >"$TMP/kill.out" 2>&1 &
PIDS+=($!)
killed=$!
wait_for instance_of $killed
kill -KILL $killed
wait $killed 2>/dev/null
instance_of $killed
verdict "SIGKILL leaves an instance" $?
run next 100 'ftrace_events: "sched/sched_switch"' && ! instance_of $killed && top_level | diff "$TMP/before" - >"$TMP/diff"
verdict "the next start removes it, and tracefs is as it was" $? "$TMP/diff"
unset 'PIDS[-1]'

# ---- without root, tracefs or an event ----

TRACEFS='' run none 100 'ftrace_events: "sched/*"' && grep -q '^problem .*mount' "$TMP/none.out"
verdict "no tracefs: it runs, empty, and says so" $? "$TMP/none.out"

chmod 711 "$TMP"
touch "$TMP/user.trace" && chmod 666 "$TMP/user.trace"
if command -v setpriv >/dev/null && [ -x "$record" ]; then
  timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$record" "$TMP/user.trace" 100 \
    'ftrace_events: "sched/*"' >"$TMP/user.out" 2>"$TMP/user.err"
  status=$?
  if grep -q 'failed to execute' "$TMP/user.err"; then
    skip "without root" "the build directory is not open to others"
  else
    [ $status = 0 ] && grep -q '^problem .*instances.*root' "$TMP/user.out"
    verdict "without root: it runs, empty, and names the directory" $? "$TMP/user.out"
  fi
fi
exit $BAD
