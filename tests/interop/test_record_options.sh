#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# Options of `sonda record` with Perfetto's programs: its probes do not know fields of ours, which must be said; its
# service passes on what sonda-probes says of itself.
. "$(dirname "$0")/lib.sh"
need_tracefs
needs_built "$BIN/sonda"
use_sockets "$TMP"

record() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  rm -f "$TMP/trace" "$TMP/ran"
  timeout 60 "$BIN/sonda" record -o "$TMP/trace" "$@" >"$TMP/out" 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}
said() { # REGEX
  grep -qE -- "$1" "$TMP/log" || { echo "not said: $1" >>"$TMP/log"; return 1; }
}
events() { # REGEX: lines of the trace as protoc prints it
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$TMP/trace" | grep -cE -- "$1"
}

# ---- Perfetto's probes

start_service perfetto "$TMP" && start_probes perfetto "$TMP"
verdict "Perfetto's service and probes start" $? "$TMP/service.log"

record 1 sched_switch --filter 'prev_pid == 1' -- touch "$TMP/ran" &&
  said '^sonda: event_filters \(--filter\) needs sonda-probes; here linux.ftrace is provided by perfetto.traced_probes \(pid [0-9]+, Perfetto v56' &&
  [ ! -e "$TMP/trace" ] && [ ! -e "$TMP/ran" ]
verdict "a filter that would be skipped: nothing is recorded, nothing runs" $? "$TMP/log"

record 3 --strict sched_switch --trigger stacktrace --subbuf 16k -- sleep 0.5 &&
  said 'missing +event_triggers \(--trigger\) needs sonda-probes; it is ignored by perfetto.traced_probes' &&
  said 'subbuf_size_kb \(--subbuf\) needs sonda-probes' && said "ended +'sleep' exited with code 0"
verdict "what is only less is reported, and the rest records" $? "$TMP/log"

record 3 --strict raw_syscalls:sys_enter -- sh -c 'echo $$; sleep 0.3' &&
  said 'follow_children \(children of -p and COMMAND\) needs sonda-probes' &&
  [ "$(events "^ +pid: $(cat "$TMP/out")\$")" -gt 0 ]
verdict "a command: it is recorded, and that its children are not is reported" $? "$TMP/log"

record 0 --strict -B 16mb -a 'sched:*' '!sched_stat_*' '*softirq*' -- sleep 0.5 &&
  said 'events +.*sched [1-9]' && said 'irq [1-9]'
verdict "patterns, which these probes do not expand themselves" $? "$TMP/log"

record 0 --strict -B 16mb -a -C 0 sched_switch -- sleep 0.5 && said 'events +sched [1-9]' &&
  ! "$B/tests/root/trace_lines" "$TMP/trace" | grep -E '^(event|switch)' | grep -qvF ' cpu 0 '
verdict "-C: one CPU" $? "$TMP/log"

# ---- sonda's, behind Perfetto's service

stop_all
start_service perfetto "$TMP" && start_probes sonda "$TMP"
record 0 --strict raw_syscalls:sys_enter --filter 'id < 0' --filter 'id == 1' -a -- true
said 'events +none: none of the requested events occurred and passed the filters' || [ -e "$TMP/trace" ]
verdict "sonda-probes behind Perfetto's service: filters are known" $? "$TMP/log"
record 0 raw_syscalls:sys_enter --filter 'id != -1' -- sh -c 'echo $$; sleep 0.1' &&
  said 'events +raw_syscalls [1-9]' && [ "$(events "^ +pid: $(cat "$TMP/out")\$")" -gt 0 ]
verdict "sonda-probes behind Perfetto's service: a command, with a filter" $? "$TMP/log"
[ "$(trace_errors "$TMP/trace")" = '[]' ]
verdict "trace_processor has no complaint" $? "$TMP/tpq.err"
exit $BAD
