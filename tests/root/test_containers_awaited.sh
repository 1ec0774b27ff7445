#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
# kernels: none
# tracefs: shared
#
# sonda record --await with a container whose name only a file of its runtime tells, here one of docker: eBPF counters, waits,
# samples and calls have its processes from the first exec on, and agree with the events of the scheduler. Programs that were
# executed before the file was there are counted. Hazard 1 of subjects: the container lives for some 20 ms.
. "$(dirname "$0")/lib.sh"
helpers=$B/tests/root
needs_built "$helpers/group_calls" "$SONDA"
needs_own_mounts
for CG in /sys/fs/cgroup /sys/fs/cgroup/unified; do [ ! -e $CG/cgroup.controllers ] || break; done
[ -e $CG/cgroup.controllers ] || { echo "no control groups of version 2" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
group=$CG/sonda-container-$$
cd "$TMP" || exit 2
end() {
  stop_all KILL
  # A killed process is in its group until it is gone.
  for _ in $(seq 100); do
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
    [ -e "$group" ] || break
    sleep 0.05
  done
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

# What a runtime does. The command of the recording, which begins when all data sources have; it belongs to no subject.
cat >runtime <<RUNTIME
#!/bin/sh
id=\$(printf %064d \$1)
name_it() {
  mkdir -p /var/lib/docker/containers/\$id
  echo '{"ID":"'\$id'","Name":"/shop","Config":{"Image":"shop:7"}}' >/var/lib/docker/containers/\$id/config.v2.json
}
start() {
  '$helpers/group_calls' "$group/docker/\$id" \$1 \$2
}
exec >pids
mkdir -p '$group/docker'
[ "\$2" = late ] || name_it
mkdir "$group/docker/\$id"
if [ "\$2" = late ]; then
  start 3 clone
  name_it
  sleep 1.3 # a file that is not there is looked for again after a second
  start 2 clone
else
  sleep 0.01 # runtimes prepare a container for longer
  start 10 clone
  start 10 \${HOW:-move}
fi
'$helpers/group_calls' '$CG' 3 stay >&2
rmdir "$group/docker/\$id"
RUNTIME
chmod +x runtime
record() { # NAME NUMBER WHEN ARGS...
  local name=$1 number=$2 when=$3
  shift 3
  unshare --mount --propagation private sh -c 'mount -t tmpfs none /var/lib && exec "$@"' sh \
    "$SONDA" record -o "$name.trace" --await --container shop "$@" -- ./runtime "$number" "$when" >"$name.log" 2>&1 </dev/null
}
ask() { # NAME QUERY: a line for each row
  "$SONDA" sql --csv "$1.trace" "$2" 2>>"$1.log" | tail -n +2 | tr -d '"\r'
}

# ---- all data sources

BUSY_MS=10 record all 1 early --strace=getppid,execve -g --cpu-stacks=2000 waits sched
verdict "a container was awaited" $? all.log
pids=$(paste -sd, pids)
[ "$(ask all "select count(*) from (select sum(s.name = 'sys_getppid') as n, sum(s.name = 'sys_execve') as e from slice s
  join thread_track t on t.id = s.track_id group by utid having n = 100 and e = 1)")" = 20 ] &&
  [ "$(ask all "select count(distinct utid) from slice s join thread_track t on t.id = s.track_id where s.name = 'sys_getppid'")" = 20 ]
verdict "linux.syscalls: 20 of 20 processes are complete from their first exec, without others" $? all.log pids
[ "$(ask all "select count(distinct tid), sum(tid not in ($pids)) from perf_sample join thread using (utid)")" = 20,0 ]
verdict "linux.perf: 20 of 20 have samples, and no others" $? all.log pids
ask all "select count(distinct tid), count(*), sum(tid not in ($pids)) from slice s join thread_track t on t.id = s.track_id
  join thread using (utid) where s.name = 'sleep'" >sleeps
[ "$(cat sleeps)" = 20,40,0 ]
verdict "linux.waits: 20 of 20 have both their sleeps, and no others" $? sleeps all.log pids
grep -qE '^  lost +nothing' all.log
verdict "nothing was missed" $? all.log

# ---- counted in the kernel, and by the kernel's own samples

cat >samples.cfg <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 2000 counter: SW_CPU_CLOCK }
  callstack_sampling { user_frames: UNWIND_FRAME_POINTER } } } }
CONFIG
HOW=clone BUSY_MS=10 record samples 2 early -c samples.cfg
pids=$(paste -sd, pids)
[ "$(ask samples "select count(distinct tid), sum(tid not in ($pids)) from perf_sample join thread using (utid)")" = 20,0 ]
verdict "linux.perf without a program: 20 of 20 have samples, and no others" $? samples.log pids

cat >counters.cfg <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { families: RUNQ waits_by_cgroup: true } } }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking"
  ftrace_events: "task/task_newtask" } } }
CONFIG
# Some virtual machines report no switch from an idle CPU to sched_switch: no CPU is idle.
busy=()
for cpu in $(seq 0 $(($(nproc) - 1))); do
  taskset -c "$cpu" nice -n 19 sh -c 'while :; do :; done' &
  busy+=($!)
done
PIDS+=("${busy[@]}")
# A process that moves waits in another group first.
HOW=clone BUSY_MS=10 record counters 4 early -c counters.cfg
kill "${busy[@]}"
pids=$(paste -sd, pids)
ask counters "select (select sum(waits) from cgroup_wait), (select count(*) from thread_state join thread using (utid)
  where tid in ($pids) and state in ('R', 'R+'))" >waits
awk -F, '$1 >= 20 && $1 >= $2 - 2 && $1 <= $2 + 2 { found = 1 } END { exit !found }' waits
verdict "RUNQ counted by control group as many waits as the scheduler's events have" $? waits counters.log

# ---- a name that comes late

record late 3 late --strace=getppid,execve
[ "$(ask late "select count(*) from slice where name = 'sys_getppid'")" = 200 ] &&
  grep -q "linux.syscalls: 3 programs were executed before the name of their container or pod was known" late.log
verdict "programs that were executed before the name was known are counted" $? late.log
[ "$(ask late "select value from stats where name = 'sonda_subject_programs_missed'")" = 3 ]
verdict "and are a row of stats" $? late.log
exit "$BAD"
