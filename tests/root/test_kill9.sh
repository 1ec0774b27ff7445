#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# kill -9 of sonda-probes in the middle of everything that it can be asked to change in tracefs: instances of its own,
# events of its own, an instance of another program, and on kernels that have markers or functions nowhere else the top
# level. The next start leaves instances/ clean, and the rest as it was, byte for byte.
. "$(dirname "$0")/lib.sh"

name=attached-$$
attached=$TRACEFS/instances/$name
remove_attached() {
  leave
  [ ! -e "$attached" ] || rmdir "$attached"
}
trap '[ "$BASHPID" != $$ ] || remove_attached' EXIT

"$BIN/sondad" >"$TMP/service.log" 2>&1 </dev/null &
PIDS+=($!)
start_probes() {
  mkfifo "$TMP/ready"
  exec 8<>"$TMP/ready"
  TRACED_PROBES_NOTIFY_FD=8 "$BIN/sonda-probes" >"$TMP/probes.log" 2>&1 </dev/null &
  probes=$!
  PIDS+=("$probes")
  [ "$(timeout 20 head -c 1 <&8)" = 1 ]
  verdict "$1: sonda-probes is ready" $? "$TMP/probes.log"
  exec 8>&-
  rm "$TMP/ready"
}
own() { compgen -G "$TRACEFS/instances/sonda-$probes-*" >/dev/null; }
gone() { ! compgen -G "$TRACEFS/instances/sonda-$1-*" >/dev/null; }
record() { # NAME, of the config
  "$BIN/sonda" record -c "$TMP/$1.cfg" -o "$TMP/$1.trace" >"$TMP/$1.log" 2>&1 </dev/null &
  recorders+=($!)
  PIDS+=($!)
}
# Any sonda-probes of this machine that starts in between does what is expected of ours.
others_were_here() { pgrep -x sonda-probes | grep -qvx "$probes"; }
# The recordings would go on with the next sonda-probes.
kill_probes() {
  kill -KILL "$probes"
  wait "$probes" 2>/dev/null
  kill -INT "${recorders[@]}"
  wait "${recorders[@]}"
  recorders=()
}
is_recording() { # DIR
  grep -q 1 "$1/tracing_on" && grep -q '^1' "$1/events/sched/sched_switch/enable"
}
own_is_recording() { is_recording "$(compgen -G "$TRACEFS/instances/sonda-$probes-*" | head -n 1)"; }

recorders=() functions='' probe=''
! grep -qw function_graph $TRACEFS/available_tracers ||
  functions='enable_function_graph: true function_filters: "vfs_*" function_graph_roots: "vfs_read" function_graph_max_depth: 3'
[ ! -e $TRACEFS/uprobe_events ] || probe="uprobe_events: \"p:killed $(readlink -f /bin/sh):0x40\""
cat >"$TMP/own.cfg" <<CONFIG
buffers { size_kb: 8192 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/*" ftrace_events: "ftrace/print" ftrace_events: "irq/*" symbolize_ksyms: true
  event_filters { event: "sched/sched_switch" filter: "prev_prio < 200" } tracing_cpumask: "1" syscall_events: "sys_read"
  event_triggers { event: "sched/sched_waking" action: ACTION_STACKTRACE }
  $functions $probe } } }
CONFIG
cat >"$TMP/attached.cfg" <<CONFIG
buffers { size_kb: 8192 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  instance_name: "$name" ftrace_events: "sched/*" ftrace_events: "irq/*" buffer_size_kb: 3000 drain_buffer_percent: 20
  use_monotonic_raw_clock: true tids_to_trace: 1 follow_children: true tracing_cpumask: "1"
  tracefs_options { name: "overwrite" state: STATE_DISABLED }
  event_filters { event: "sched/sched_switch" filter: "prev_prio < 200" } syscall_events: "sys_read"
  event_triggers { event: "sched/sched_waking" action: ACTION_STACKTRACE } } } }
CONFIG
cat >"$TMP/warm.cfg" <<CONFIG
duration_ms: 100
buffers { size_kb: 1024 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
CONFIG

mkdir "$attached"
echo 123 >"$attached/buffer_size_kb"
echo mono >"$attached/trace_clock"
echo 1 >"$attached/events/sched/sched_wakeup/enable"
echo 'prev_prio > 100' >"$attached/events/sched/sched_switch/filter"
echo 'traceoff:1 if prev_prio == 1234' >"$attached/events/sched/sched_switch/trigger"

start_probes "before"
# Some kernels have made no rings for the top level before the first event is on anywhere.
"$BIN/sonda" record -c "$TMP/warm.cfg" -o "$TMP/warm.trace" >"$TMP/warm.log" 2>&1
verdict "before: a recording" $? "$TMP/warm.log"
wait_for gone "$probes"
settings_of $TRACEFS >"$TMP/top.before"
settings_of "$attached" >"$TMP/attached.before"

record own
record attached
wait_for own_is_recording && wait_for is_recording "$attached"
verdict "two recordings are on" $? "$TMP/own.log"
sleep 0.5
settings_of "$attached" | diff "$TMP/attached.before" - >"$TMP/diff"
[ $? = 1 ] && grep -q '^> buffer_size_kb' "$TMP/diff" && grep -q '^> .*sched_switch/filter' "$TMP/diff"
verdict "the attached instance is changed" $? "$TMP/diff"
kill_probes
{ [ -e "/run/sonda/instances:$name" ] && own; } || others_were_here
verdict "killed: the instance is there, and what has to be undone is on record" $?
compgen -G '/run/sonda/top-level*' >/dev/null || [ -z "$functions" ] || others_were_here
verdict "killed: what it had of the top level is on record, too" $?

killed=$probes
start_probes "the next start"
{ grep -q 'removed .* left behind by a killed process' "$TMP/probes.log" &&
  grep -q 'restored the original tracefs settings in' "$TMP/probes.log"; } || others_were_here
verdict "the next start: it says that it tidied up" $? "$TMP/probes.log"
gone "$killed"
verdict "the next start: instances/ is clean" $?
settings_of "$attached" | diff "$TMP/attached.before" - >"$TMP/diff"
verdict "the next start: the attached instance is as it was" $? "$TMP/diff"
settings_of $TRACEFS | diff "$TMP/top.before" - >"$TMP/diff"
verdict "the next start: the top level is as it was" $? "$TMP/diff"
! grep -q "sonda_${killed}_" $TRACEFS/dynamic_events 2>/dev/null
verdict "the next start: no probe is left" $?
[ ! -e "/run/sonda/instances:$name" ]
verdict "the next start: and no record" $?

# ---- what another program has changed since the kill stays

record attached
wait_for is_recording "$attached"
sleep 0.5
kill_probes
echo global >"$attached/trace_clock"
echo 77 >"$attached/buffer_size_kb"
start_probes "after a change"
grep -q '\[global\]' "$attached/trace_clock" && [ "$(cat "$attached/buffer_size_kb")" -lt 100 ] &&
  [ "$(cat "$attached/events/sched/sched_switch/filter")" = 'prev_prio > 100' ]
verdict "what another program has changed since stays, the rest is restored" $? "$TMP/probes.log"
kill "$probes"
wait "$probes"
verdict "it ends well" $? "$TMP/probes.log"
exit $BAD
