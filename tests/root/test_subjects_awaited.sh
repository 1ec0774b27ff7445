#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
# kernels: none
# tracefs: shared
#
# sonda record --await with data sources other than linux.ftrace: BPF programs know a control group by its name when it is
# made, and a program by the name of its process, so all calls from the first exec on are there, and none of others.
# Hazard 4 of subjects: a thread that is moved out and back, and threads of one process in two groups.
. "$(dirname "$0")/lib.sh"
helpers=$B/tests/root
needs_built "$helpers/group_calls" "$SONDA"
for CG in /sys/fs/cgroup /sys/fs/cgroup/unified; do [ ! -e $CG/cgroup.controllers ] || break; done
[ -e $CG/cgroup.controllers ] || { echo "no control groups of version 2" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
group=sonda-await-$$
cd "$TMP" || exit 2
end() {
  stop_all KILL
  # A killed process is in its group until it is gone.
  for _ in $(seq 100); do
    find "$CG/$group"* -depth -type d -exec rmdir {} + 2>/dev/null
    compgen -G "$CG/$group*" >/dev/null || break
    sleep 0.05
  done
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"

# The function `during` runs while it records.
record() { # NAME ARGS...
  local name=$1 recorder
  shift
  # The command starts when all data sources have. It belongs to no subject.
  "$SONDA" record -t 60 -o "$name.trace" "$@" -- sh -c 'echo >"$0"; while [ ! -e "$0.end" ]; do sleep 0.05; done' "$name.go" \
    >"$name.log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=($recorder)
  wait_for [ -e "$name.go" ]
  during >"$name.pids" 2>"$name.others"
  echo end >"$name.go.end"
  wait $recorder
}
ask() { # NAME QUERY: a line for each row
  "$SONDA" sql --csv "$1.trace" "$2" 2>>"$1.log" | tail -n +2 | tr -d '"\r'
}
load() { # DIR: 20 processes in it, and others outside
  mkdir -p "$1"
  "$helpers/group_calls" "$1" 10 clone
  "$helpers/group_calls" "$1" 10 move
  "$helpers/group_calls" "$CG" 3 stay >&2
}

# ---- linux.syscalls

during() { load "$CG/$group-strace"; }
record strace --await --cgroup "/$group-strace" --strace=getppid,execve
[ "$(ask strace "select count(*) from (select utid, sum(s.name = 'sys_getppid') as n, sum(s.name = 'sys_execve') as e from slice s
  join thread_track t on t.id = s.track_id group by utid having n = 100 and e = 1)")" = 20 ] &&
  [ "$(ask strace "select count(distinct utid) from slice s join thread_track t on t.id = s.track_id")" = 20 ]
verdict "linux.syscalls: a group that starts later is complete from its first exec, 20 of 20, without others" $? strace.log strace.pids
during() { load "$CG/$group-unit/x.service/below"; }
record unit --await --unit x --strace=getppid
[ "$(ask unit "select count(*) from slice where name = 'sys_getppid'")" = 2000 ]
verdict "and so is a unit, in a group below it" $? unit.log
again() {
  rmdir "$CG/$group-unit/x.service/below" "$CG/$group-unit/x.service"
  mkdir "$CG/$group-unit/x.service"
  "$helpers/group_calls" "$CG/$group-unit/x.service" 5 clone
}
during() { again; }
record again --unit x --strace=getppid
[ "$(ask again "select count(*) from slice where name = 'sys_getppid'")" = 500 ]
verdict "a unit that exists, when it is removed and made again" $? again.log
cp "$helpers/group_calls" a_program_with_a_long_name
during() {
  for _ in 1 2 3 4 5; do ./a_program_with_a_long_name & echo $!; wait $!; done
  "$helpers/group_calls" "$CG" 3 stay >&2
}
record program --await --program a_program_with_a_long_name --strace=getppid
[ "$(ask program "select count(*) from slice where name = 'sys_getppid'")" = 500 ]
verdict "and so is a program, by the first 15 characters of its name" $? program.log

# ---- threads of one process in several groups

mkdir -p "$CG/$group-threads/one" "$CG/$group-threads/two"
cat >threads.py <<'END'
import os, sys, threading
def enter(group):
    with open(f'{sys.argv[1]}/{group}/cgroup.threads', 'w') as f:
        f.write(str(threading.get_native_id()))
def calls(n):
    for _ in range(n):
        os.getppid()
def moves():
    for group, n in ('one', 100), ('two', 50), ('one', 30):
        enter(group)
        calls(n)
def stays():
    enter('two')
    calls(70)
with open(f'{sys.argv[1]}/cgroup.procs', 'w') as f:
    f.write('0')
for run in moves, stays:
    t = threading.Thread(target=run)
    t.start()
    t.join()
    print(t.native_id)
END
during() { python3 -SE threads.py "$CG/$group-threads"; }
if ! { echo threaded >"$CG/$group-threads/one/cgroup.type" && echo threaded >"$CG/$group-threads/two/cgroup.type"; } 2>/dev/null; then
  skip "a thread counts while it is in the group" "groups cannot have threads of one process here"
else
  record threads --cgroup "/$group-threads/one" --strace=getppid containers
  read -r moved <threads.pids
  [ "$(ask threads "select thread.tid, count(*) from slice s join thread_track t on t.id = s.track_id join thread using (utid)
    where s.name = 'sys_getppid' group by 1")" = "$moved,130" ]
  verdict "a thread that is moved out and back counts while it is in the group, another thread of its process does not" $? threads.log threads.pids
  [ "$(ask threads "select replace(group_concat(replace(path, '/$group-threads/', '')), ',', ' ') from (select path from thread_cgroup c
    join thread using (utid) join cgroup g on g.id = c.cgroup_id where tid = $moved and path glob '*/*/*' order by c.ts)")" = "one two one" ]
  verdict "and the trace has its groups in the order of time" $? threads.log threads.pids
fi

# ---- linux.ebpf_counters

cat >counters.cfg <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { families: SYSCALLS top_n: 100 period_ms: 20 } } }
CONFIG
calls() { ask "$1" "select coalesce(sum(v), 0) from (select max(value) as v from counter c join process_counter_track t on
  t.id = c.track_id where t.name = 'getppid' group by t.id)"; }
during() { load "$CG/$group-counters"; }
record counters --await --cgroup "/$group-counters" -c counters.cfg
[ "$(calls counters)" = 2000.0 ]
verdict "linux.ebpf_counters: 2000 of 2000 calls of the group" $? counters.log
during() {
  for _ in 1 2 3 4 5; do ./a_program_with_a_long_name & echo $!; wait $!; done
  "$helpers/group_calls" "$CG" 3 stay >&2
}
record counted --await --program a_program_with_a_long_name -c counters.cfg
[ "$(calls counted)" = 500.0 ]
verdict "and 500 of 500 of the program" $? counted.log

# ---- linux.waits, linux.perf

# Each uses the CPU and waits for a child.
printf '#!/bin/sh\nn=0; while [ $((n += 1)) -lt 40 ]; do sleep 0.01; i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; done\n' >in_group
cp in_group outside
chmod +x in_group outside
during() {
  mkdir "$CG/$group-one"
  ./outside &
  sh -c "echo \$\$ >'$CG/$group-one/cgroup.procs'; exec ./in_group"
  wait $!
}
has_threads() { # NAME QUERY: those of the group, and none outside
  ask "$1" "$2" >threads
  grep -qx in_group threads && ! grep -qx outside threads
}
record others --await --cgroup "/$group-one" -g waits
has_threads others "select distinct thread.name from perf_sample join thread using (utid)"
verdict "linux.perf samples the processes of a group that starts later" $? others.log threads
has_threads others "select distinct t.name from slice s join thread_track tt on tt.id = s.track_id join thread t using (utid)"
verdict "linux.waits has waits of the group only" $? others.log threads
during() { ./outside & ./in_group; wait $!; }
record named --await --program in_group waits
has_threads named "select distinct t.name from slice s join thread_track tt on tt.id = s.track_id join thread t using (utid)"
verdict "linux.waits has waits of a program that starts later" $? named.log threads
exit "$BAD"
