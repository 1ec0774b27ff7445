#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# check: long
# tracefs: machine
#
# A machine whose CPUs are busy with hundreds of runnable processes: a recording with the default options loses nothing, and
# takes little of the machine. The limit is that of issue 12: 2.5 s of the CPU time of two CPUs in 8 s.
. "$(dirname "$0")/lib.sh"
load=$B/tests/root/crowd
[ -x "$load" ] && [ -x "$B/tests/root/do_calls" ] || { echo "$load is not built" >&2; exit 77; }

cpu_ticks() { # PID...: used so far
  local pid sum=0 used
  for pid; do
    used=$(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')
    sum=$((sum + used))
  done
  echo "$sum"
}
machine_ticks() { awk '/^cpu / { print $2 + $3 + $4 }' /proc/stat; } # user, nice, system

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
service=${PIDS[-1]}
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}
# In a session of its own: a nice value would count within one (autogroup).
setsid "$load" 6 1000 &
PIDS+=($!)
crowd=$!
before=$(cpu_ticks "$service" "$probes" $(pgrep -P "$probes")) machine_before=$(machine_ticks)
"$BIN/sonda" record -t 4s --strict -o "$TMP/trace" sched 'irq:*' 'timer:*' 'raw_syscalls:*' >"$TMP/log" 2>&1
code=$?
used=$(($(cpu_ticks "$service" "$probes" $(pgrep -P "$probes")) - before)) machine=$(($(machine_ticks) - machine_before))

# A second session begins and ends meanwhile: it makes rings, switches events on and off, and removes the rings. The kernel
# holds up the first for some tenths of a second in that, for which its rings have room.
"$BIN/sonda" record -t 6s -B 64mb --strict -o "$TMP/first" sched 'irq:*' 'timer:*' 'raw_syscalls:*' >"$TMP/first.log" 2>&1 &
first=$!
PIDS+=($!)
wait_for we_record
"$BIN/sonda" record -t 3s -B 64mb --strict -o "$TMP/second" sched 'irq:*' 'timer:*' 'raw_syscalls:*' >"$TMP/second.log" 2>&1
second_code=$?
wait "$first"
first_code=$?
kill "$crowd"

if ! grep -q 'SCHED_FIFO' "$TMP/probes.log"; then
  echo "real time is not allowed here" >&2
  exit 77
fi
[ "$code" = 0 ] && grep -q 'lost *nothing' "$TMP/log"
verdict "beside hundreds of runnable processes nothing is lost" $? "$TMP/log"
[ "$(events_in "$TMP/trace")" -gt 100000 ]
verdict "beside hundreds of runnable processes all of many events are in the file" $? "$TMP/log"
echo "the daemons used $used of the $machine ticks that the CPUs worked" >"$TMP/cpu"
[ "$used" -gt 0 ] && [ $((used * 160)) -le $((machine * 25)) ]
verdict "beside hundreds of runnable processes the daemons take less than 2.5 of 16 s of CPU time" $? "$TMP/cpu"
cat "$TMP/cpu"

[ "$first_code" = 0 ] && grep -q 'lost *nothing' "$TMP/first.log" && grep -q 'ended *duration reached' "$TMP/first.log"
verdict "a recording loses nothing while another one begins and ends" $? "$TMP/first.log"
[ "$second_code" = 0 ] && grep -q 'lost *nothing' "$TMP/second.log" && [ "$(events_in "$TMP/second")" -gt 10000 ]
verdict "a recording that begins and ends beside another one loses nothing" $? "$TMP/second.log"

# A burst of 4,000,000 events, 2,000,000 a second: the session of the load has the CPU before all others that are not
# real-time.
calls=$(scaled 2000000)
"$BIN/sonda" record -a --strict -o "$TMP/trace" raw_syscalls -- setsid sh -c \
  'echo -20 >/proc/self/autogroup; exec "$0" paced="$1"' "$B/tests/root/do_calls" "$calls" >"$TMP/log" 2>&1
code=$?
[ "$code" = 0 ] && grep -q 'lost *nothing' "$TMP/log" && [ "$(events_in "$TMP/trace")" -ge $((calls * 2)) ]
verdict "of a burst nothing is lost" $? "$TMP/log"
grep '^Recorded' "$TMP/log"

echo "1..$N"
exit "$BAD"
