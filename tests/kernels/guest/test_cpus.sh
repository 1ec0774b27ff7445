#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: newest
#
# CPUs that go and come while something is recorded: what ran on them before, between and after is in the trace, what
# was left in a ring when its CPU went off too.
. "$(dirname "$0")/../lib.sh"

cpus=/sys/devices/system/cpu
[ -w $cpus/cpu1/online ] || { echo "CPU 1 cannot be switched off here" >&2; exit 77; }
online_again() {
  echo 1 >$cpus/cpu1/online 2>/dev/null
  leave
}
trap '[ "$BASHPID" != $$ ] || online_again' EXIT

work() { # CPU NAME: a load with a name of its own
  cp "$B/tests/root/ping_pong" "$TMP/$2"
  taskset -c "$1" "$TMP/$2" 200
}
worked() { # TRACE NAME CPU
  is_true "$1" "$2 ran on CPU $3" \
    "select count(*) > 300 from sched join thread using (utid) where thread.name = '$2' and ucpu = $3"
}

start_recording() { # NAME
  "$BIN/sonda" record -t 100s -o "$OUT/$1.pftrace" sched >"$TMP/log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=("$recorder")
  wait_for our_instances
  # The events are on when the load is seen; there is no other sign of it.
  sleep 1
}
end_recording() { # WHAT
  kill -INT "$recorder"
  wait "$recorder"
  verdict "$1: exit code 0" $? "$TMP/log"
  grep -q '^ *lost *nothing' "$TMP/log"
  verdict "$1: nothing lost" $? "$TMP/log"
}
switch() { # CPU 0|1
  echo "$2" >$cpus/cpu"$1"/online && [ "$(cat $cpus/cpu"$1"/online)" = "$2" ]
}

start_recording off_and_on
work 1 before
switch 1 0
verdict "a CPU goes off" $?
work 0 between
sleep 1
switch 1 1
verdict "a CPU goes on again" $?
work 1 after
end_recording "off and on"
worked off_and_on before 1
worked off_and_on between 0
worked off_and_on after 1

start_recording stays_off
work 1 last_words
switch 1 0
work 0 alone
end_recording "stays off"
worked stays_off last_words 1
worked stays_off alone 0

# Begins without it.
start_recording comes_late
work 0 early
switch 1 1
work 1 late
end_recording "comes late"
worked comes_late early 0
worked comes_late late 1

# ---- a CPU that was never there

new=$(compgen -G "$cpus/cpu[0-9]*" | wc -l)
if [ -e "$TRACEFS/per_cpu/cpu$new" ]; then
  start_recording plugged
  work 1 old_cpu
  monitor "device_add max-x86_64-cpu,socket-id=0,core-id=$new,thread-id=0,id=cpu$new" >"$TMP/monitor"
  wait_for [ -e "$cpus/cpu$new/online" ]
  verdict "a CPU is plugged in" $? "$TMP/monitor"
  switch "$new" 1
  verdict "a recording goes on after a CPU is plugged in" $?
  work "$new" new_cpu
  end_recording "plugged in"
  worked plugged old_cpu 1
  worked plugged new_cpu "$new"
else
  skip "a CPU is plugged in" "the kernel leaves no room for one"
fi
exit $BAD
