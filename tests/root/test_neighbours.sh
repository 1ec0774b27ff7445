#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# check: long
# tracefs: machine
#
# sonda report neighbours: a process waits for its CPU because another group has it, or because its own group has used up
# its quota; by events, and as the kernel counts it. ROUNDS=20 repeats both.
# Hazard 16 of subjects: a quota is no latency, and the wake-up of an idle CPU no neighbour.
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3
for MOUNT in /sys/fs/cgroup /sys/fs/cgroup/unified none; do
  [ "$(stat -f -c %T $MOUNT 2>/dev/null)" != cgroup2fs ] || break
done
[ $MOUNT != none ] || { echo "control groups of version 2 are not mounted" >&2; exit 77; }
A=$MOUNT/sonda-a-$$ B2=$MOUNT/sonda-b-$$ QUOTA=$A
leave_groups() {
  leave
  rmdir "$A" "$B2" "$QUOTA" 2>/dev/null
}
trap '[ "$BASHPID" != $$ ] || leave_groups' EXIT
mkdir "$A" "$B2" || exit 77
# The quota is of version 1 where that has the controller. With a quota the group has the largest weight, so that it uses it up
# on a busy machine as well.
if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
  QUOTA=/sys/fs/cgroup/cpu/sonda-a-$$
  mkdir "$QUOTA"
  quota() { echo "$1" >"$QUOTA/cpu.cfs_quota_us" && echo "$2" >"$QUOTA/cpu.shares"; }
elif echo +cpu >$MOUNT/cgroup.subtree_control 2>/dev/null && [ -e "$A/cpu.max" ]; then
  quota() { echo "${1/-1/max} 100000" >"$A/cpu.max" && echo $((1 + $2 / 27)) >"$A/cpu.weight"; }
else
  echo "there is no quota of a control group here" >&2
  exit 77
fi
cd "$TMP" || exit 2

# Of linux.waits only the waits for the quota, of which no limit leaves any out.
cat >config <<CONFIG
buffers { size_kb: 65536 }
data_sources { config { name: "linux.cgroup_members" } }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { families: RUNQ waits_by_cgroup: true } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
data_sources { config { name: "linux.waits" waits_config { states: THROTTLED no_totals: true } } }
data_sources { config { name: "linux.ftrace" ftrace_config { buffer_size_kb: 16384
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking"
  ftrace_events: "task/task_newtask" ftrace_events: "sched/sched_process_exit" } } }
CONFIG
# Works for 2 ms, sleeps for 1 ms, for 0.8 s.
cat >victim.py <<'VICTIM'
import os, sys, time
for group in sys.argv[1:]:
    open(group + '/cgroup.procs', 'w').write('0')
os.sched_setaffinity(0, {0})
end = time.monotonic() + 0.8
while time.monotonic() < end:
    until = time.process_time() + 0.002
    while time.process_time() < until and time.monotonic() < end:
        pass
    time.sleep(0.001)
VICTIM
cat >load.sh <<LOAD
if [ \$1 = neighbour ]; then
  (echo 0 >$B2/cgroup.procs; exec taskset -c 0 timeout 0.9 sh -c 'while :; do :; done') &
fi
/usr/bin/python3 -SE victim.py $A $QUOTA
wait
exit 0
LOAD
# The time for which the kernel throttled the group, ms.
throttled() { awk '/^throttled_time / { print int($2 / 1e6) } /^throttled_usec / { print int($2 / 1e3) }' "$QUOTA/cpu.stat"; }
# CASE: "CAUSE: PERCENT MS" of each cause in the file shares, and the kernel's ms in $had.
run() {
  if [ "$1" = quota ]; then quota 10000 262144; else quota -1 1024; fi
  had=$(throttled)
  "$SONDA" record -c config -o "$1.pftrace" -- bash load.sh "$1" 2>log || return 1
  "$SONDA" report neighbours "/sonda-a-$$" "$1.pftrace" --by cause --csv 2>>log | tr -d '"\r' |
    awk -F, '/^#/ { how = /counted/ ? "counted " : "" } NF > 3 { print how $1 ": " int($3) " " int($2 / 1e6) }' >shares
  had=$(($(throttled) - had))
}
share() { sed -n "s/^$1: \([0-9]*\) .*/\1/p" shares | grep . || echo 0; }
ms() { sed -n "s/^$1: [0-9]* //p" shares | grep . || echo 0; }
wrong=0 wrong_count=0
for round in $(seq "${ROUNDS:-1}"); do
  run neighbour || break
  [ "$(share 'counted neighbours')" -gt 60 ] && [ "$(share 'counted own CPU quota')" -lt 5 ] ||
    { wrong_count=1; echo "round $round, a neighbour:"; cat shares log; }
  [ "$(share 'neighbours')" -gt 80 ] && [ "$(share 'own CPU quota')" -lt 5 ] ||
    { wrong=1; echo "round $round, a neighbour:"; cat shares log; }
  # When the quota is there again, the thread may still wait for the CPU; that is in our time, not in the kernel's.
  run quota && [ "$had" -gt 50 ] && [ "$(ms 'own CPU quota')" -gt $((had * 8 / 10)) ] &&
    [ "$(ms 'own CPU quota')" -lt $((had * 15 / 10)) ] || { wrong=1; echo "round $round, a quota of $had ms:"; cat shares log; }
  counted=$(ms 'counted own CPU quota')
  [ "$counted" -gt $((had * 8 / 10)) ] && [ "$counted" -lt $((had * 15 / 10)) ] ||
    { wrong_count=1; echo "round $round, a quota of $had ms:"; cat shares log; }
done >offenders
verdict "the report names the neighbour and the quota, ${ROUNDS:-1} of ${ROUNDS:-1}" $wrong offenders
[ "$("$SONDA" report neighbours "/sonda-a-$$" neighbour.pftrace --by container --csv 2>>log | tail -n +3 | tr -d '"\r' |
  awk -F, '$1 ~ /sonda-b-/ { print 1 }')" = 1 ]
verdict "the neighbour is named" $?
verdict "the kernel counts both apart, ${ROUNDS:-1} of ${ROUNDS:-1}" $wrong_count offenders
# Waits by events and as they were counted: of one group, in one recording. Other CPUs' clocks differ by a little.
for trace in neighbour quota; do
  events=$("$SONDA" report latency "$trace.pftrace" --by cgroup --csv 2>>log | tr -d '"\r' |
    awk -F, -v g="/sonda-a-$$" '/^#/ { how = /counted/ } $1 == g { n[how] = how ? $2 : $2 + $3 } END { print n[0] + 0, n[1] + 0 }')
  echo "$trace: $events" >>compared
  echo "$events" | awk '{ exit !($1 > 20 && $2 > 0.95 * $1 - 15 && $2 < 1.05 * $1 + 15) }' || wrong_count=2
done
[ $wrong_count != 2 ]
verdict "as many waits as the events have" $? compared log
"$SONDA" report neighbours nosuch neighbour.pftrace >out 2>&1
[ $? = 1 ] && grep -q 'has no threads in container, unit, pod or control group .nosuch.' out
verdict "a group that is not there is refused" $? out
exit $BAD
