#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# Who was it? Thousands of tasks that live a few milliseconds, between two looks at the rings, each with names that it
# tells us itself (short_lived.c): every one of them has its name, process, parent and program in the trace. With
# trace_processor (tests/interop/peers.sh) each that was scheduled is asked for as users will; without it the trace's own
# rows must do.
. "$(dirname "$0")/lib.sh"

helper=$B/tests/root
PEERS=$(tests/interop/peers.sh 2>"$TMP/no_peers") || PEERS=
query() { TP_ASSETS=$PEERS/tp timeout 120 node tests/interop/tpq.mjs "$@" 2>/dev/null; }
# The lines of the group_concat that an answer of $TMP/answers is.
lines() { # ANSWER
  sed -n "$1{s/^\[{\"x\":\"//; s/\"}\]\$//; s/\\\\n/\\n/g; p}" "$TMP/answers"
}
without_peers() { # NAME
  skip "$1" "$(tail -n 1 "$TMP/no_peers")"
}

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}

in_instance() { cat "$TRACEFS"/instances/sonda-"$probes"-*/"$1"; }
is_recording() { [ "$(in_instance tracing_on)" = 1 ]; }

# Records while a command runs. The session's switches are in $TMP/on.
record() { # TRACE FTRACE_CONFIG PROCESS_CONFIG COMMAND...
  local trace=$1 recorder r
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 131072 fill_policy: DISCARD }
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config { ftrace_events: "sched/sched_switch" buffer_size_kb: 16384 $2 }
  }
}
data_sources { config { name: "linux.process_stats" process_stats_config { $3 } } }
CONFIG
  shift 3
  "$BIN/sonda" record -c "$TMP/config" -o "$trace" >"$TMP/record.log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=("$recorder")
  wait_for is_recording || return 1
  sleep 0.3
  for e in task/task_newtask task/task_rename sched/sched_process_exec sched/sched_process_exit raw_syscalls/sys_exit; do
    echo "$e $(in_instance events/$e/enable)"
  done >"$TMP/on"
  (cd /proc && printf '%s\n' [0-9]*/task/[0-9]* | sed 's,.*/,,') >"$TMP/before"
  "$@"
  kill -INT "$recorder"
  wait "$recorder"
  r=$?
  ! grep -q 'lost  *[0-9]' "$TMP/record.log" && return $r
}
names='scan_all_processes_on_start: true record_thread_names: true'

# ---- by trace_processor

# Utid by slice of a CPU, and what is known of each utid; then each line of the load's log is looked up by the moment
# at which it says that it ran. A process that executed nothing is called by its name, or by its parent's command line.
# Some kernels of virtual machines do not record every switch from idle, so a few that ran are in no slice: only most
# of them must be. The trace does not tell when a process ended: of a number that another one had when the recording began,
# trace_processor takes the first slices for that one's.
lookup='
  function say(what) { bad = bad " " what }
  FILENAME == ARGV[1] { tid[$1] = $2; name[$1] = $3; pid[$1] = $4; ppid[$1] = $5; process[$1] = $6; cmdline[$1] = $7; next }
  FILENAME == ARGV[2] { i = n[$3]++; from[$3, i] = $1; to[$3, i] = $2; utid[$3, i] = $4; next }
  FILENAME == ARGV[3] { had[$1]; next }
  $2 in had { used++; next }
  {
    u = bad = ""
    for (i = 0; i < n[$2]; i++)
      if (from[$2, i] <= $5 && $5 <= to[$2, i]) u = utid[$2, i]
    if (u == "") { missing++; next }
    seen++
    if (name[u] != $6) say("thread.name=" name[u])
    if (pid[u] != $3) say("process.pid=" pid[u])
    if ($4 != 0 && ppid[u] != $4) say("parent=" ppid[u])
    if ($7 != "-") {
      if (cmdline[u] != $7) say("cmdline=" cmdline[u])
      if (process[u] != $7 && process[u] != $6) say("process.name=" process[u])
    } else if ($4 != 0) {
      if (cmdline[u] != $6 && cmdline[u] !~ /short_lived_/) say("cmdline=" cmdline[u])
      if (process[u] != $6 && process[u] !~ /short_lived$/) say("process.name=" process[u])
    }
    if (bad != "") { wrong++; print $0 ":" bad }
  }
  END {
    print seen + 0 " were scheduled, of " wrong + 0 " something is wrong; " missing + 0 " were not in sched, " \
      used + 0 " have a number that was used before"
    exit !(seen > 4 * (missing + used) && !wrong)
  }'
# All that is asked of a trace, in one answer a line; first into a file: what goes to a pipe is cut off when node ends.
ask() { # TRACE LOG
  query "$1" "select group_concat(l, char(10)) as x from (select t.utid || ' ' || t.tid || ' ' ||
      ifnull(nullif(t.name, ''), '?') || ' ' || ifnull(p.pid, -1) || ' ' || ifnull(q.pid, -1) || ' ' ||
      ifnull(replace(p.name, ' ', '_'), '?') || ' ' || ifnull(replace(p.cmdline, ' ', '_'), '?') as l
    from thread t left join process p using (upid) left join process q on p.parent_upid = q.upid)" \
    "select group_concat(l, char(10)) as x from (select s.ts || ' ' || (s.ts + s.dur) || ' ' || t.tid || ' ' ||
      s.utid as l from sched s join thread t using (utid))" \
    "select name, idx, value from stats where severity = 'error' and value > 0" \
    "select count(*) as n from ftrace_event where name not like 'sched_switch'" >"$TMP/answers"
  lines 1 >"$TMP/threads"
  lines 2 >"$TMP/slices"
  case $2 in *.events) : >"$TMP/before" ;; esac # there the trace tells it
  awk "$lookup" "$TMP/threads" "$TMP/slices" "$TMP/before" "$2"
}

# ---- by the rows alone

# Somewhere there is a row with the last name, and one of the process.
rows='
  FILENAME == ARGV[1] && $1 == "thread" { thread[$2, substr($3, 6), substr($4, 6)]; next }
  FILENAME == ARGV[1] { sub(/^.* cmdline=/, "", $0); next }
  !(($2, $3, $6) in thread) { wrong++; print }
  END { print wrong + 0 " without a name"; exit !!wrong }'
look() { # TRACE LOG
  "$helper/process_tree" trace "$1" >"$TMP/rows" && awk "$rows" "$TMP/rows" "$2"
}

check() { # WHAT TRACE LOG
  local r tasks
  tasks=$(wc -l <"$3")
  look "$2" "$3" >"$TMP/found"
  verdict "$1: a row for each of $tasks tasks" $? "$TMP/found"
  if [ -z "$PEERS" ]; then
    without_peers "$1: as trace_processor sees them"
    return
  fi
  ask "$2" "$3" >"$TMP/found"
  r=$?
  verdict "$1: $(tail -n 1 "$TMP/found")" $r "$TMP/found"
  [ "$(sed -n 3p "$TMP/answers")" = "[]" ]
  verdict "$1: trace_processor has nothing to complain of" $? <(sed -n 3p "$TMP/answers")
}

mkdir "$TMP/programs"
"$helper/short_lived" "$TMP/programs" || exit 1
live() { "$helper/short_lived" "$TMP/programs" "$@"; } # LOG COUNT PARALLEL [storm]

for ms in 100 1000; do
  record "$TMP/trace" "drain_period_ms: $ms" "$names" live "$TMP/log.$ms" 1500 8
  verdict "$ms ms: records" $? "$TMP/record.log"
  printf '%s 1\n' task/task_newtask task/task_rename sched/sched_process_exec sched/sched_process_exit | cmp -s - <(grep ' 1$' "$TMP/on")
  verdict "$ms ms: the events that tell of tasks are on" $? "$TMP/on"
  check "$ms ms" "$TMP/trace" "$TMP/log.$ms"
  if [ -n "$PEERS" ]; then
    [ "$(sed -n 4p "$TMP/answers")" = '[{"n":0}]' ]
    verdict "$ms ms: but not in the trace" $? <(sed -n 4p "$TMP/answers")
  else
    without_peers "$ms ms: but not in the trace"
  fi
done

# The same where the trace has the events, too: nothing contradicts them.
record "$TMP/trace" 'ftrace_events: "task/*" ftrace_events: "sched/sched_process_*" drain_period_ms: 500' "$names" \
  live "$TMP/log.events" 900 8
verdict "with the events: records" $? "$TMP/record.log"
check "with the events" "$TMP/trace" "$TMP/log.events"

# ---- a storm

record "$TMP/trace" "drain_period_ms: 500" "$names" live "$TMP/log.storm" 10000 16 storm
verdict "a storm: records, and loses nothing" $? "$TMP/record.log"
check "a storm" "$TMP/trace" "$TMP/log.storm"

# ---- who does not want it

record "$TMP/trace" "" "$names quirks: DISABLE_ON_DEMAND" true
verdict "DISABLE_ON_DEMAND: records" $? "$TMP/record.log"
! grep -q ' 1$' "$TMP/on"
verdict "DISABLE_ON_DEMAND: nothing is turned on" $? "$TMP/on"

no_instances
verdict "no instance is left" $?
complains_of_nothing "$TMP/probes.log"
verdict "sonda-probes had nothing to complain of" $? "$TMP/probes.log"
echo "1..$N"
exit $BAD
