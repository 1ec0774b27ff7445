#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10 6.1 newest
#
# linux.ebpf_counters on every kernel: all families at once run, but for those that the kernel lacks something for, which say so;
# and what they count of the machine is what the load did. (test_ebpf_processes.sh has what they count of processes.)
. "$(dirname "$0")/../lib.sh"

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 32768 }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {
  families: RUNQ families: CPU_TIME families: BLOCK families: SYSCALLS families: FAULTS families: TCP
  families: INTERRUPTS families: MEMORY families: LOCKS families: FUTEX
} } }
CONFIG
cp "$B/tests/root/ping_pong" "$TMP/pinged"
# The first second is theirs: a program is loaded a step.
"$BIN/sonda" record -c "$TMP/config" -o "$OUT/ebpf.pftrace" -- sh -c "sleep 1
  dd if=/dev/vda of=/dev/null bs=4096 count=64 iflag=direct 2>/dev/null; '$TMP/pinged' 500; sleep 0.3" >"$TMP/log" 2>&1
verdict "all families: exit code 0" $? "$TMP/log"
# Of each other one it is said what the kernel does not have.
sed -n '/for a private sondad/d; /^  cost /d; /of the machine for eBPF counters/d; s/^ .*eBPF counters: //p' "$TMP/log" >"$TMP/missing"
! grep -v ': the kernel has no ' "$TMP/missing" >"$TMP/other"
verdict "those run that the kernel has all for" $? "$TMP/other"
sed 's/^/# /' "$TMP/missing"
for family in runq cpu_time block interrupts tcp memory; do
  ! grep "^$family:" "$TMP/missing" >"$TMP/other"
  verdict "$family runs" $? "$TMP/other"
done

# The scope and thresholds are further instructions, which a verifier has to like, too. (In 5.10 there is nothing
# to ask for the control group of a call.)
sed 's|families: RUNQ|cgroups: "/" outliers { runq_us: 1 block_us: 1 reclaim_us: 1 max_per_second: 1000 } &|' "$TMP/config" >"$TMP/config.more"
mkdir -p /sys/fs/cgroup
grep -q ' cgroup2 ' /proc/mounts || mount -t cgroup2 none /sys/fs/cgroup
"$BIN/sonda" record -c "$TMP/config.more" -o "$OUT/ebpf_more.pftrace" -- sh -c "sleep 1
  dd if=/dev/vda of=/dev/null bs=4096 count=64 iflag=direct 2>/dev/null; '$TMP/pinged' 50; sleep 0.3" >"$TMP/log" 2>&1
sed -n '/of the machine for eBPF counters/d; s/.*eBPF counters: //p' "$TMP/log" | grep -v 'slices left out\|runs missed\|^syscalls: .* no BPF helper 158' | sort >"$TMP/missing.more"
sort "$TMP/missing" | diff - "$TMP/missing.more" >"$TMP/diff"
verdict "the same run with control groups and outliers" $? "$TMP/diff"
is_true ebpf_more "waits in run queues are slices" "select count(*) > 0 from slice where name = 'runq wait'"
is_true ebpf_more "requests of a disk are slices" "select count(*) > 0 from slice where name = 'block read'"
is_true ebpf_more "processes in control groups are counted" "select count(*) > 0 from process_counter_track where name = 'CPU time'"

# sonda top reads an iterator, whose records have fields that moved between kernels.
"$BIN/sonda" top --json -n 3 -d 0.5 >"$TMP/screens" 2>"$TMP/log" </dev/null
verdict "sonda top ends after its screens" $? "$TMP/log"
tail -n 1 "$TMP/screens" | grep -q '"ebpf":true' && tail -n 1 "$TMP/screens" | grep -qE "\{\"pid\":$$,[^}]*\"rss_bytes\":[1-9]"
verdict "it lists processes with their memory" $? <(tail -n 1 "$TMP/screens" | cut -c 1-600)
! grep -E 'could not be loaded|the sandbox blocked' "$TMP/log"
verdict "all that it needs is loaded" $? "$TMP/log"

# Of a total that names a track in a group: over all groups of that kind, what was counted at the end.
total() { # GROUP TRACK
  printf '%s' "(select sum(v) from (select max(c.value) as v from counter c join track t on t.id = c.track_id
    join track g on g.id = t.parent_id where g.name glob '$1' and t.name glob '$2' group by c.track_id))"
}
is_true ebpf "switches" "select $(total 'CPU *' 'context switches') >= 1000"
is_true ebpf "waits in run queues" "select $(total 'CPU *' 'runq latency max') > 0"
is_true ebpf "bytes of a disk" "select $(total vda read) >= 64 * 4096"
is_true ebpf "its requests" "select $(total vda 'read requests') >= 64"
is_true ebpf "and how long they took" "select $(total vda 'read latency max') > 0"
is_true ebpf "interrupts" "select $(total 'CPU *' hardirqs) > 0 and $(total 'CPU *' 'hardirq time') > 0"
is_true ebpf "softirqs" "select $(total 'CPU *' 'softirqs TIMER') > 0"
is_true ebpf "nothing found no room" "select count(*) = 0 from track where name glob '* lost'"
exit $BAD
