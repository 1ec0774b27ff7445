#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Another process with root's rights changes the instance of a recording: turns it off, clears its rings, disables an
# event, changes a filter or the clock. The summary does not say that nothing was lost.
#
# kernels: 5.10 newest
# tracefs: shared
. "$(dirname "$0")/lib.sh"
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"

# Some records that the recording has read.
records_are_read() {
  for _ in $(seq 100); do
    "$BIN/sonda" version >"$TMP/version"
    awk '/^read events/ { n += $3 } END { exit n < 20 }' "$1"/per_cpu/cpu*/stats && return 0
    sleep 0.05
  done
  return 1
}
record_while() { # COMMAND...: runs it in the directory of the instance
  local directory
  record_in_background "$TMP/record.log" -a -o "$TMP/trace" sched_switch sched_waking --filter 'prio < 140' || return
  directory=$(our_dirs)
  records_are_read "$directory"
  (cd "${directory:?no instance of ours}" && "$@") # an empty name would be the current directory
  kill "${PIDS[-1]}"
  wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
}
put() { # TEXT FILE
  echo "$1" >"$2"
}
tells() { # NAME TEXT
  grep -q "kernel rings: another process interfered with the recording ($2): events are missing" "$TMP/record.log"
  verdict "$1" $? "$TMP/record.log"
}

record_while true
grep -q 'lost  *nothing' "$TMP/record.log"
verdict "no other process changes it: nothing was lost" $? "$TMP/record.log"
record_while put 0 tracing_on
tells "turned off" "tracing_on was set to 0"
record_while put '' trace
tells "cleared" "the rings were cleared"
record_while put 0 events/sched/sched_switch/enable
tells "an event is disabled" "sched/sched_switch was disabled"
record_while put 'prio == 1' events/sched/sched_waking/filter
tells "another filter" "events/sched/sched_waking/filter was changed"
record_while put local trace_clock
tells "another clock" "trace_clock was changed"
# Turned on again before the end, after a flush.
turn_off_and_on() {
  echo 0 >tracing_on
  "$BIN/sonda" snapshot -o "$TMP/snapshot" >"$TMP/snapshot.log" 2>&1
  echo 1 >tracing_on
}
record_while turn_off_and_on
tells "turned off for a while, with a flush meanwhile" "tracing_on was set to 0"
no_instances
verdict "no instance is left" $?
echo "1..$N"
exit "$BAD"
