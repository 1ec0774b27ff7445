#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What linux.ebpf_counters keeps with a thread is found where many share a slot (bpf/slots.h), too: sonda-probes has two
# of them (ebpf_few_slots.c), so of three threads at least one has its own elsewhere, and slots pass on as threads end.
. "$(dirname "$0")/lib.sh"
need_tracefs
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
load=$B/tests/interop/process_load
PROBES=$B/tests/interop/ebpf_few_slots
[ -x "$PROBES" ] || { echo "this build has no eBPF counters" >&2; exit 77; }
export SLOTS=2
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')

# Only the loads are counted, where control groups of version 2 can be made: slices have a limit per second, which the
# waits of other processes of a busy machine use up. All threads of the machine have slots nevertheless.
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=sonda-slots-$$ scope=
remove_group() {
  [ -z "$scope" ] || rmdir "$groups/$group"
  leave
}
if [ -n "$groups" ] && mkdir "$groups/$group" 2>/dev/null; then
  scope="cgroups: '/$group'"
  trap '[ "$BASHPID" != $$ ] || remove_group' EXIT
fi

use_sockets "$TMP"
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1
cat >"$TMP/config" <<END
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: 'linux.ebpf_counters' ebpf_counters_config {
  families: SYSCALLS families: CPU_TIME families: RUNQ top_n: 500 period_ms: 20 outliers { runq_us: 200 max_per_second: 100000 } $scope } } }
data_sources { config { name: 'linux.ftrace' ftrace_config { ftrace_events: 'sched/sched_switch' compact_sched { enabled: false } } } }
END
# Eight at once, that want the same CPU and sleep between; and one after the other, that soon end, and of whose calls getppid
# is among the five that have tracks (a sanitizer makes many others): "PID FAULTS MAJOR", and "USER SYSTEM" of the shell, and
# of its child. Interrupts and what a hypervisor takes are no time of a process for the kernel; the counters have them.
cat >"$TMP/load" <<'END'
[ -z "$group" ] || echo $$ >"$group/cgroup.procs"
taken() { awk -v cpu="cpu$cpu" '$1 == cpu { print ($7 + $8 + $9) * 1000 / hz }' hz="$(getconf CLK_TCK)" /proc/stat; }
before=$(taken)
for i in 1 2 3 4 5 6 7 8; do { $load cpu=$cpu getppid=1000 spin=100 sleep=3 spin=100; times; } >"$TMP/one.$i" 2>&1 & done
wait
echo "$before $(taken)" >"$TMP/taken"
for i in {1..30}; do $load getppid=700; done >"$TMP/short"
END
env TMP="$TMP" load="$load" cpu="$cpu" group="${scope:+$groups/$group}" timeout 60 "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" -- bash "$TMP/load" >"$TMP/log" 2>&1 &&
  grep -qE '^  lost +(nothing$|cpu_time: [0-9,]+ changes of state)' "$TMP/log" && ! grep -A1 '^  lost' "$TMP/log" | grep -qE '^  +[a-z_]+: '
verdict "recorded, nothing lost" $? "$TMP/log"
[ "$(grep -c ' has 2 slots$' "$TMP/probes.log")" = 3 ]
verdict "each family has two slots" $? "$TMP/probes.log"
query "$TMP/trace" "select p.pid || '|' || t.name || '|' || cast(max(c.value) as int) as x from counter c
    join process_counter_track t on t.id = c.track_id join process p using (upid)
    where t.name in ('getppid', 'CPU time', 'off CPU: runnable') group by p.pid, t.name" \
  "select h.tid || '|waits|' || sum(s.dur) as x from slice s join thread_track t on t.id = s.track_id join thread h using (utid)
    where s.name = 'runq wait' group by h.tid" \
  "with s as (select extract_arg(arg_set_id, 'prev_pid') as prev,
      lag(extract_arg(arg_set_id, 'next_pid')) over (partition by ucpu order by ts) as last from ftrace_event where name = 'sched_switch')
    select prev || '|unseen' as x from s where prev != last union select last || '|unseen' from s where prev != last" >"$TMP/rows" # a pipe would be cut at 64 KiB
tr '{' '\n' <"$TMP/rows" | sed -n 's/.*"x":"\([^"]*\)".*/\1/p' >"$TMP/last"
for i in 1 2 3 4 5 6 7 8; do tr '\n' ' ' <"$TMP/one.$i"; echo; done >"$TMP/ones"

awk -F'|' 'FILENAME ~ /last$/ { if ($2 == "getppid") counted[$1] = $3; next }
  { split($0, pid, " "); want = FILENAME ~ /short$/ ? 700 : 1000; n++ }
  counted[pid[1]] != want { print pid[1] " called " want " times, not " counted[pid[1]] + 0; bad = 1 }
  END { exit bad || n != 38 }' "$TMP/last" "$TMP/ones" "$TMP/short" >"$TMP/calls"
verdict "calls are as many as were made" $? "$TMP/calls"
# In ms, of which the shell tells whole ones. A kernel in a virtual machine may leave out switches to and from threads of
# PID 1: it was not seen that the thread before them stopped, and that the thread after them ran. These two are not compared.
awk -F'|' 'function near(a, b, more) { return a > b * 0.9 - 2 && a < b * 1.1 + 2 + more }
  function in_ms(text, part) { split(text, part, /[ms]/); return part[1] * 60000 + part[2] * 1000 }
  $2 == "unseen" { unseen[$1]; next }
  FILENAME ~ /last$/ { counted[$1, $2] = $3 / 1e6; next }
  FILENAME ~ /taken$/ { split($0, f, " "); taken = f[2] - f[1]; next }
  { split($0, f, " "); pid = f[1]; ms = in_ms(f[6]) + in_ms(f[7]); n++
    waited = counted[pid, "waits"]; runnable = counted[pid, "off CPU: runnable"]
    printf "%s ran %d ms, by counters %.1f; was runnable %.1f, waited %.1f; %d ms taken from all%s\n", pid, ms, counted[pid, "CPU time"], runnable, waited, taken, pid in unseen ? "; a switch to it is missing" : ""
    if (pid in unseen) next
    if (!near(counted[pid, "CPU time"], ms, taken)) bad_times = 1
    all_waited += waited; all_runnable += runnable
    if (waited > runnable * 1.1 + 2 || waited < runnable * 0.75 || waited < 50) bad_waits = 1 }
  END { exit (n != 8) * 4 + bad_times * 2 + (bad_waits || all_waited < all_runnable * 0.95) }' "$TMP/last" "$TMP/taken" "$TMP/ones" >"$TMP/times"
status=$?
((status < 2))
verdict "processes ran as long as the kernel says" $? "$TMP/times"
((status % 2 == 0 && status < 4))
verdict "processes waited for a CPU as long as the kernel says" $? "$TMP/times"
echo "1..$N"
exit $BAD
