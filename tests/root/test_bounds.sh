#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: shared
# check: heavy
#
# 10,000 control groups and 100,000 threads while every source that keeps something for each of them records: the memory of
# the daemons stays within a bound, each group is in the trace or counted as lost, and what a histogram has no room for is
# counted exactly. Hazard 17 of subjects. MANY=500 is for a quick look.
. "$(dirname "$0")/lib.sh"
needs_built "$B/tests/root/crowded_groups"
for MOUNT in /sys/fs/cgroup /sys/fs/cgroup/unified none; do
  [ "$(stat -f -c %T $MOUNT 2>/dev/null)" != cgroup2fs ] || break
done
[ $MOUNT != none ] || { echo "control groups of version 2 are not mounted" >&2; exit 77; }
MANY=${MANY:-10000} EACH=10
GROUP=$MOUNT/sonda-bounds-$$
leave_groups() {
  leave
  find "$GROUP" -depth -type d -exec rmdir {} \; 2>/dev/null
}
trap '[ "$BASHPID" != $$ ] || leave_groups' EXIT
mkdir "$GROUP" || exit 77
cd "$TMP" || exit 2

cat >config <<CONFIG
buffers { size_kb: 262144 }
data_sources { config { name: "linux.cgroup_members" } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {
  families: RUNQ families: CPU_TIME families: SYSCALLS families: FAULTS waits_by_cgroup: true process_rows: true } } }
data_sources { config { name: "linux.waits" } }
data_sources { config { name: "linux.ebpf_counters" subject_config { programs: "crowded_groups" } ebpf_counters_config {
  histograms { event: "sched_process_exit" field: "prio" key: "cgroup" }
  histograms { event: "sched_process_exit" field: "prio" key: "tid" max_keys: 8192 }
  histograms { event: "sched_process_exit" field: "prio" } } } }
CONFIG
peak_mib() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$1/status"; }
start_ready TRACED_NOTIFY_FD service.log "$BIN/sondad"
SERVICE=${PIDS[-1]}
start_ready TRACED_PROBES_NOTIFY_FD probes.log "$BIN/sonda-probes"
PROBES=${PIDS[-1]}

timeout 300 "$SONDA" record -a -c config -o few.pftrace -- "$B/tests/root/crowded_groups" "$GROUP" 20 $EACH >counted 2>log
verdict "20 groups are recorded" $? log
before=$(peak_mib "$PROBES")
timeout 600 "$SONDA" record -a -c config -o trace.pftrace -- "$B/tests/root/crowded_groups" "$GROUP" "$MANY" $EACH >counted 2>log
verdict "$MANY groups, and $EACH threads in each, are recorded" $? log
grep -q "^$MANY $((MANY * EACH))$" counted
verdict "all of them were there" $? counted
# What is kept of a thread or a group takes up to 4 KiB; histograms of 8192 keys 17 MiB.
after=$(peak_mib "$PROBES")
echo "sonda-probes: $before MiB with 20 groups, $after MiB with $MANY; sondad $(peak_mib "$SERVICE") MiB" >memory
[ "$after" -lt $((before + 96)) ]
verdict "the memory of sonda-probes is bounded" $? memory
[ "$(peak_mib "$SERVICE")" -lt 320 ]
verdict "the memory of sondad is that of its buffer" $? memory

ask() { # QUERY: the rows, columns separated by commas
  "$SONDA" sql --csv trace.pftrace "$1" 2>>log | tail -n +2 | tr -d '"\r'
}
ask "select (select count(distinct cgroup_id) from thread_cgroup c join cgroup g on g.id = c.cgroup_id where path glob
  '/sonda-bounds-$$/*') as groups, (select sum(value) from stats where name = 'sonda_cgroup_rows_lost') as lost" >members
[ "$(cut -d, -f 1 members)" = "$MANY" ] || [ "$(cut -d, -f 2 members)" -gt 0 ]
verdict "each group has its thread, or the rows that were lost are counted" $? members
ask "select (select count(distinct cgroup_id) from cgroup_wait w join cgroup g on g.id = w.cgroup_id where path glob
  '/sonda-bounds-$$/*') as groups, (select sum(value) from stats where name = 'sonda_cgroup_waits_lost') as lost" >waits
[ "$(cut -d, -f 1 waits)" = "$MANY" ] || [ "$(cut -d, -f 2 waits)" -gt 0 ]
verdict "each group has its waits for a CPU, or those that were lost are counted" $? waits members
# The main thread of the program is in no group of its own, and ends, too.
ask "select h.id, count(distinct key_number), sum(r.n) + coalesce((select value from stats where name = 'sonda_histogram_no_key'
  and idx = h.id), 0) as all_values from event_histogram h left join event_histogram_row r on r.histogram_id = h.id group by h.id" >histograms
keys=$((MANY + 1 < 1024 ? MANY + 1 : 1024))
grep -q "^0,$keys,$((MANY * (EACH + 1) + 1))$" histograms && grep -q "^2,0,$((MANY * (EACH + 1) + 1))$" histograms
verdict "a histogram has as many keys as there is room for, and the other values are counted" $? histograms log
awk -F, -v all=$((MANY * (EACH + 1) + 1)) '$1 == 1 { found = $2 <= 8192 && $3 == all } END { exit !found }' histograms
verdict "the same by thread" $? histograms
exit $BAD
