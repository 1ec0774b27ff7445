#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# linux.process_stats on the real /proc: each task that was there before and after the recording is in the trace once,
# with what /proc says of it, be its name ever so hostile.
. "$(dirname "$0")/lib.sh"

helper=$B/tests/root
start_hostile() { # sets hostile to its pid
  mkfifo "$TMP/named"
  "$helper/hostile_names" >"$TMP/named" &
  PIDS+=($!)
  read -r hostile <"$TMP/named"
  rm "$TMP/named"
}
start_ready() { # NOTIFY_VARIABLE LOG COMMAND...
  local variable=$1 log=$2
  shift 2
  mkfifo "$TMP/ready"
  env "$variable=9" "$@" >"$log" 2>&1 9>"$TMP/ready" </dev/null &
  PIDS+=($!)
  [ "$(timeout 20 head -c 1 "$TMP/ready")" = 1 ]
  verdict "${1##*/} tells when it is ready" $? "$log"
  rm "$TMP/ready"
}

start_hostile
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 16384 fill_policy: DISCARD }
data_sources {
  config {
    name: "linux.process_stats"
    process_stats_config {
      scan_all_processes_on_start: true
      record_thread_names: true
      record_process_age: true
    }
  }
}
duration_ms: 500
CONFIG

"$helper/process_tree" proc | sort >"$TMP/before"
timeout 60 "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/record.log" 2>&1
verdict "records" $? "$TMP/record.log"
"$helper/process_tree" proc | sort >"$TMP/after"
"$helper/process_tree" trace "$TMP/trace" | sort >"$TMP/traced"
verdict "the trace can be read" $?

# Of a command line that is longer than 128 KiB, the trace has the beginning.
comm -12 "$TMP/before" "$TMP/after" | awk 'length < 130000' >"$TMP/stable"
tasks=$(wc -l <"$TMP/stable")
[ "$tasks" -gt 10 ]
verdict "there are tasks to compare ($tasks)" $? "$TMP/stable"
comm -23 "$TMP/stable" "$TMP/traced" >"$TMP/missing"
[ ! -s "$TMP/missing" ]
verdict "each of them is in the trace as /proc has it" $? "$TMP/missing"

cut -d' ' -f1,2 "$TMP/traced" | uniq -d >"$TMP/twice"
[ ! -s "$TMP/twice" ]
verdict "none of them is in the trace twice" $? "$TMP/twice"

# Older kernels do not say it.
no_kthread=-1
grep -q ^Kthread: /proc/self/status && no_kthread=0
hostile_is_traced() { # WHAT
  grep " tgid=$hostile " "$TMP/traced" >"$TMP/hostile"
  # A thread that is seen before it takes its name stands there twice, as it should.
  [ "$(awk '{ print $2 }' "$TMP/hostile" | sort -u | wc -l)" = 8 ] && grep -qF 'name=a) R 1 (' "$TMP/hostile" &&
    grep -qF 'name=Tgid:\x091' "$TMP/hostile" && grep -qF 'name=\x0aTgid:\x091\x0aPid:' "$TMP/hostile"
  verdict "$1: threads with hostile names" $? "$TMP/hostile"
  grep -F "process $hostile ppid=$$ uid=0 " "$TMP/traced" | grep -qF " kthread=$no_kthread cmdline=$helper/hostile_names"
  verdict "$1: and their process" $? "$TMP/hostile"
}
hostile_is_traced "a scan"

# ---- without a scan: what the kernel's events tell of

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 16384 fill_policy: DISCARD }
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config { ftrace_events: "sched/sched_switch" ftrace_events: "task/task_rename"
      ftrace_events: "task/task_newtask" drain_period_ms: 100 }
  }
}
data_sources { config { name: "linux.process_stats" process_stats_config { record_thread_names: true } } }
CONFIG
record_in_background "$TMP/record.log" -c "$TMP/config" -o "$TMP/trace2"
recorder=${PIDS[-1]}
start_hostile
# Seen as bash first, then under the name that it takes.
bash -c 'sleep 1; exec -a "another name" sleep 60' &
renamed=$!
PIDS+=("$renamed")
# A number that is used again, by a process that takes no name of its own.
first_owner='' second_owner=''
last_pid=/proc/sys/kernel/ns_last_pid
if [ -w $last_pid ]; then
  bash -c 'exec -a "first owner" sleep 1.5' &
  first_owner=$!
  wait $first_owner
  mkfifo "$TMP/wait"
  for _ in $(seq 100); do
    echo $((first_owner - 1)) >$last_pid
    read -r _ <>"$TMP/wait" &
    second_owner=$!
    [ $second_owner != $first_owner ] || break
    kill $second_owner
    wait $second_owner 2>/dev/null
  done
  PIDS+=("$second_owner")
fi
sleep 2
kill -TERM "$recorder"
wait "$recorder"
verdict "records on demand" $? "$TMP/record.log"
"$helper/process_tree" trace "$TMP/trace2" | sort >"$TMP/traced"
hostile_is_traced "on demand"
grep "^process $renamed " "$TMP/traced" >"$TMP/renamed"
grep -q ' cmdline=another name|60$' "$TMP/renamed" && grep -q ' cmdline=bash' "$TMP/renamed"
verdict "on demand: a process before and after its exec" $? "$TMP/renamed"

if [ -n "$first_owner" ] && [ "$first_owner" = "$second_owner" ]; then
  grep "^process $first_owner " "$TMP/traced" >"$TMP/owners"
  grep -q ' cmdline=first owner|1.5$' "$TMP/owners" && grep -q ' cmdline=.*test_probes_names' "$TMP/owners"
  verdict "on demand: a number that is used again" $? "$TMP/owners"
else
  skip "on demand: a number that is used again" "the kernel does not let us choose one"
fi

kill -TERM "$probes"
wait "$probes"
verdict "SIGTERM ends sonda-probes well" $? "$TMP/probes.log"
complains_of_nothing "$TMP/probes.log"
verdict "sonda-probes logs no error" $? "$TMP/probes.log"
echo "1..$N"
exit $BAD
