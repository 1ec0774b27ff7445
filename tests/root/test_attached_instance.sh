#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: top
#
# linux.ftrace in an instance that another program has made (instance_name): it records there what it was asked for, alone
# or with others, and leaves every switch, size, clock and filter as it was. And what it refuses.
. "$(dirname "$0")/lib.sh"

record=$B/tests/root/ftrace_record
name=attached-$$
attached=$TRACEFS/instances/$name
export STATE=$TMP/state

remove_attached() {
  leave
  [ ! -e "$attached" ] || rmdir "$attached"
}
trap '[ "$BASHPID" != $$ ] || remove_attached' EXIT

# With nothing in it as a new instance has it.
mkdir "$attached"
echo 123 >"$attached/buffer_size_kb"
echo mono >"$attached/trace_clock"
echo 0 >"$attached/options/overwrite"
echo 0 >"$attached/tracing_on"
echo 1 >"$attached/events/sched/sched_wakeup/enable"
echo 'prev_prio > 100' >"$attached/events/sched/sched_switch/filter"
echo $$ >"$attached/set_event_pid"
echo 1 >"$attached/tracing_cpumask"
# A CPU that is not plugged in has no ring whose size could be another.
! grep -qsx 1 /sys/devices/system/cpu/cpu1/online || echo 456 >"$attached/per_cpu/cpu1/buffer_size_kb"
# While the top level does not record, a session of another test switches its copies of markers off (test_markers.sh).
top_settings() { settings_of $TRACEFS | grep -v copy_trace_marker; }
before() { # so that later parts do not depend on earlier ones
  settings_of "$attached" >"$TMP/attached.before"
  top_settings >"$TMP/top.before"
}
as_it_was() { # WHAT
  settings_of "$attached" | diff "$TMP/attached.before" - >"$TMP/diff"
  verdict "$1: the instance is as it was" $? "$TMP/diff"
  top_settings | diff "$TMP/top.before" - >"$TMP/diff"
  verdict "$1: the top level is as it was" $? "$TMP/diff"
  ! compgen -G "$STATE/*" >/dev/null # its directory stays
  verdict "$1: no record of changes is left" $?
}
run() { # NAME MS CONFIG [COMMAND...]: a recording; its report in $TMP/NAME.out
  local name=$1 ms=$2 config=$3
  shift 3
  timeout 60 "$record" "$TMP/$name.trace" "$ms" "$config" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
}
sum() { # NAME FIELD
  awk -v field="$2" '$1 == "cpu" { for (i = 3; i < NF; i += 2) if ($i == field) n += $(i + 1) } END { print n + 0 }' \
    "$TMP/$1.out"
}
load=("$B/tests/root/ping_pong" 500)

# ---- one session, with everything that can be changed

before
run one 300 "instance_name: '$name' ftrace_events: 'sched/*' ftrace_events: 'irq/*' ftrace_events: 'ftrace/print'
  buffer_size_kb: 2048 use_monotonic_raw_clock: true tracing_cpumask: '3' drain_buffer_percent: 30
  event_filters { event: 'sched/sched_switch' filter: 'prev_prio < 200' }
  event_triggers { event: 'sched/sched_switch' action: ACTION_STACKTRACE }
  tracefs_options { name: 'overwrite' state: STATE_ENABLED } syscall_events: 'sys_write'" \
  bash -c "cat '$attached'/{tracing_on,trace_clock,buffer_size_kb,tracing_cpumask,options/overwrite} >'$TMP/during'
    cat '$attached'/events/sched/sched_switch/{filter,trigger} >>'$TMP/during'; cat '$STATE'/* >'$TMP/record'
    echo 'to the instance' >'$attached/trace_marker'"
verdict "one session: it records" $? "$TMP/one.err"
grep -q 'mono_raw\]' "$TMP/during" && grep -q 'prev_prio < 200' "$TMP/during" &&
  { grep -q '^stacktrace' "$TMP/during" || grep -q '^failed option:event_triggers' "$TMP/one.out"; }
verdict "one session: what it asked for was set" $? "$TMP/during"
[ "$(grep -ac 'to the instance' "$TMP/one.trace")" = 1 ]
verdict "one session: the instance's own marker is in the trace" $? "$TMP/one.out"
grep -aq '^was .* tracing_on$' "$TMP/record" && grep -aq '^is .* trace_clock$' "$TMP/record"
verdict "one session: it kept a record of what to undo" $? "$TMP/record"
as_it_was "one session"

# ---- a plain one records what happens, whatever its owner had set

echo >"$attached/set_event_pid"
echo 3 >"$attached/tracing_cpumask"
echo 0 >"$attached/events/sched/sched_switch/filter"
before
run plain 100 "instance_name: '$name' ftrace_events: 'sched/sched_switch' ftrace_events: 'sched/sched_wakeup'" "${load[@]}" &&
  [ "$(sum plain events)" -gt 800 ] && ! grep -qE '^(failed|problem|unknown)' "$TMP/plain.out" &&
  [ "$(sum plain events)" = "$(sum plain read)" ]
verdict "a plain session: all that the kernel handed out" $? "$TMP/plain.out"
as_it_was "a plain session"

# ---- two at once

"$record" "$TMP/first.trace" 60000 "instance_name: '$name' ftrace_events: 'sched/sched_switch' buffer_size_kb: 4096" \
  >"$TMP/first.out" 2>"$TMP/first.err" &
first=$!
PIDS+=("$first")
records() { [ "$(cat "$attached/tracing_on")" = 1 ]; }
wait_for records
run second 100 "instance_name: '$name' ftrace_events: 'sched/sched_wakeup' use_monotonic_raw_clock: true" "${load[@]}"
verdict "another process cannot have it at the same time: it starts, empty" $? "$TMP/second.out"
grep -q "^problem .*another sonda-probes (pid $first) is using" "$TMP/second.out"
verdict "another process cannot have it at the same time: the process that has it is named" $? "$TMP/second.out"
kill -TERM $first
wait $first
verdict "the first is not disturbed" $? "$TMP/first.out"
[ "$(sum first events)" -gt 800 ] && [ "$(sum first lost)" = 0 ]
verdict "the first has all events" $? "$TMP/first.out"
as_it_was "two processes"

# Of one sonda-probes, both have their own.
service='' probes=''
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}
config() { # NAME EVENT
  cat >"$TMP/$1.cfg" <<CONFIG
buffers { size_kb: 8192 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  instance_name: "$name" ftrace_events: "$2" drain_period_ms: 50 compact_sched { enabled: false } } } }
CONFIG
}
config a sched/sched_switch
config b sched/sched_waking
record_in_background "$TMP/a.log" -c "$TMP/a.cfg" -o "$TMP/a.trace"
a=${PIDS[-1]}
record_in_background "$TMP/b.log" -c "$TMP/b.cfg" -o "$TMP/b.trace"
b=${PIDS[-1]}
"${load[@]}"
kill -TERM "$b"
wait "$b"
verdict "two sessions of one process: the second" $? "$TMP/b.log"
logged() { grep -aq "^was .*$1" "/run/sonda/instances:$name"; }
rewritten() { logged events/sched/sched_switch/enable && ! logged events/sched/sched_waking/enable; }
wait_for rewritten
verdict "two sessions of one process: the undo log has the settings of the first alone" $? "/run/sonda/instances:$name"
kill -TERM "$a"
wait "$a"
verdict "two sessions of one process: the first" $? "$TMP/a.log"
[ "$(events_in "$TMP/a.trace")" -gt 800 ] && [ "$(events_in "$TMP/b.trace")" -gt 400 ]
verdict "both have their events" $? "$TMP/b.log"
kill "$probes"
wait "$probes"
as_it_was "two sessions of one process"

# ---- what was there before

echo 1 >"$attached/options/overwrite"
echo 16384 >"$attached/buffer_size_kb"
echo 1 >"$attached/events/sched/sched_switch/enable"
echo 1 >"$attached/tracing_on"
"${load[@]}"
echo 'from before' >"$attached/trace_marker"
before
run preserved 200 "instance_name: '$name' preserve_ftrace_buffer: true ftrace_events: 'ftrace/print'
  ftrace_events: 'irq/softirq_entry'" &&
  [ "$(grep -ac 'from before' "$TMP/preserved.trace")" = 1 ] && ! grep -qE '^(failed|problem)' "$TMP/preserved.out"
verdict "preserve_ftrace_buffer: what was in the rings is in the trace" $? "$TMP/preserved.out"
as_it_was "preserve_ftrace_buffer"
echo 'from before' >"$attached/trace_marker"
run cleared 200 "instance_name: '$name' ftrace_events: 'ftrace/print'" && ! grep -aq 'from before' "$TMP/cleared.trace"
verdict "without it, it is not" $? "$TMP/cleared.out"
as_it_was "cleared"

# ---- others in it

# shellcheck disable=SC2217 # it holds the pipe open
sleep 30 <"$attached/trace_pipe" &
PIDS+=($!)
wait_for grep -qx sleep "/proc/$!/comm"
run reader 100 "instance_name: '$name' ftrace_events: 'sched/sched_switch'" &&
  grep -q "^failed option:instance_name (sleep, pid ${PIDS[-1]}, reads the same rings" "$TMP/reader.out"
verdict "another reader is reported" $? "$TMP/reader.out"
kill "${PIDS[-1]}"
wait "${PIDS[-1]}" 2>/dev/null
unset 'PIDS[-1]'

if grep -qw function "$attached/available_tracers" && echo function >"$attached/current_tracer" 2>/dev/null; then
  run tracer 100 "instance_name: '$name' ftrace_events: 'sched/sched_switch'" &&
    grep -q '^problem .*current_tracer is function' "$TMP/tracer.out" && [ "$(cat "$attached/current_tracer")" = function ]
  verdict "the tracer of another program stays enabled" $? "$TMP/tracer.out"
  echo nop >"$attached/current_tracer"
fi

# ---- names

refused() { # NAME WHY
  run refused 50 "instance_name: '$1' ftrace_events: 'sched/sched_switch'" && grep -q "^problem .*$2" "$TMP/refused.out"
  verdict "instance_name: '$1'" $? "$TMP/refused.out"
}
refused "atached-$$" "no such instance; did you mean $name?"
refused "../instances/$name" "not an instance name"
refused "sonda-1-1" "another recording"

# ---- functions, where the kernel has none

if ! grep -qw function_graph $TRACEFS/available_tracers; then
  run functions 50 'enable_function_graph: true function_filters: "vfs_*" ftrace_events: "sched/sched_switch"' &&
    grep -q '^failed option:enable_function_graph (the kernel has no such tracer; it has: .*nop' "$TMP/functions.out" &&
    [ "$(sum functions events)" -gt 0 ]
  verdict "enable_function_graph without the tracer: said, and the rest records" $? "$TMP/functions.out"
fi
exit $BAD
