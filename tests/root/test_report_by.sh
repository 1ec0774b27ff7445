#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# check: long
#
# Reports by control group: CPU time beside cpu.stat, also of a process that moves while it runs; and all reports with --by.
. "$(dirname "$0")/lib.sh"
for MOUNT in /sys/fs/cgroup /sys/fs/cgroup/unified none; do
  [ "$(stat -f -c %T $MOUNT 2>/dev/null)" != cgroup2fs ] || break
done
[ $MOUNT != none ] || { echo "control groups of version 2 are not mounted" >&2; exit 77; }
GROUP=$MOUNT/sonda-by-$$
leave_groups() {
  leave
  find "$GROUP" -depth -type d -exec rmdir {} \; 2>/dev/null
}
trap '[ "$BASHPID" != $$ ] || leave_groups' EXIT
mkdir "$GROUP" "$GROUP/a" "$GROUP/b" "$GROUP/c" || exit 77
cd "$TMP" || exit 2

cat >load.sh <<LOAD
spin() { i=0; while [ \$i -lt \$1 ]; do i=\$((i+1)); done; }
(echo 0 >$GROUP/a/cgroup.procs; (spin 200000); true) &
(echo 0 >$GROUP/b/cgroup.procs; spin 70000; echo 0 >$GROUP/c/cgroup.procs; spin 70000) &
wait
for g in a b c; do echo "/sonda-by-$$/\$g \$(sed -n 's/usage_usec //p' $GROUP/\$g/cpu.stat)"; done >stat
LOAD
other() { awk '/^cpu / { print $7 + $8 + $9, $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat; }
# The kernel leaves interrupts and the time of other guests out of cpu.stat, but not out of the time between two switches. The
# time of a process since the last tick is charged to the group that it moves to: for b and c that is some per cent.
measure() {
  local before
  before=$(other)
  for g in a b c; do
    rmdir "$GROUP/$g" && mkdir "$GROUP/$g" # its cpu.stat begins at 0
  done
  "$SONDA" record -a sched containers -o by.pftrace -- bash load.sh 2>log || return
  echo "$before $(other)" | awk '{ print 1.01 + ($3 - $1) / ($4 - $2) }' >most
  "$SONDA" report cpu by.pftrace --by cgroup --csv 2>>log | tr -d '"\r' | awk -F, 'NR == FNR { most = $1; next }
    FILENAME == "stat" { split($0, s, " "); us[s[1]] = s[2]; next }
    $1 in us { n++; share = $2 / 1000 / us[$1]; print $1, $2, us[$1], share; off = $1 ~ /a$/ ? 0 : 0.05
      bad += share < 0.99 - off || share > most + off }
    END { exit bad || n != 3 }' most stat - >shares
}
# Kernels of some virtual machines leave out switches: another one is recorded, at most twice.
for _ in 1 2 3; do
  measure && break
done
verdict "the CPU time of each group is that of cpu.stat" $? shares most log

sum() { # QUERY or REPORT
  tr -d '"\r' | awk -F, -v column="$1" 'NR > 2 { sum += $column } END { printf "%.0f\n", sum }'
}
"$SONDA" report cpu by.pftrace --by thread --csv --top 100000 2>>log | sum 4 >threads
for key in container unit pod cgroup; do
  "$SONDA" report cpu by.pftrace --by $key --csv --top 100000 2>>log | sum 2 >groups
  cmp -s threads groups
  verdict "CPU time by $key adds up to that by thread" $? threads groups
done
"$SONDA" report cpu by.pftrace --by cgroup --csv --cgroup "/sonda-by-$$/a" 2>>log | tr -d '"\r' | grep sonda-by >one
"$SONDA" report cpu by.pftrace --by cgroup --csv 2>>log | tr -d '"\r' | grep "^/sonda-by-$$/a," | cmp -s - one
verdict "--cgroup PATH selects the threads of this group, with all of their time" $? one
for report in cpu sched latency waits io net mem syscalls; do
  for key in container program; do
    "$SONDA" report $report by.pftrace --by $key --json >json 2>>log
    # 1: the trace has no data for the report.
    [ $? -lt 2 ] && grep -q "\"$key\":\|No data" json || echo "$report --by $key: $(cat json)"
  done
done >offenders
no_offenders "all reports have --by container and --by program" "$(cat offenders)"
exit $BAD
