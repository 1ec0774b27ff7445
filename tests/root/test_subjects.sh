#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
# kernels: none
#
# sonda record --cgroup, --program and -p NAME: the calls of each process of the subject are in the trace from its first
# exec on, and those of others are not. Groups that this test makes and removes: some exist before the recording, some are
# made during it, under names that are awkward, and by CLONE_INTO_CGROUP. Names that are unknown or ambiguous are refused.
#
# Hazards of subjects (docs/internals/tests.md has the table): 2, 3, 5, 6, 8 to 10, 12 and 15.
. "$(dirname "$0")/lib.sh"
helpers=$B/tests/root
needs_built "$helpers/group_calls" "$helpers/trace_lines" "$SONDA"
for CG in /sys/fs/cgroup /sys/fs/cgroup/unified; do [ ! -e $CG/cgroup.controllers ] || break; done
[ -e $CG/cgroup.controllers ] || { echo "no control groups of version 2" >&2; exit 77; }
case $(uname -m) in
x86_64) GETPPID=110 ;;
*) GETPPID=173 ;;
esac
group=sonda-subject-$$
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

# Records these events while the function `during` runs.
record() { # NAME ARGS...
  local name=$1 recorder
  shift
  "$SONDA" record -o "$name.trace" "$@" --syscalls getppid sched_process_exec -t 600 >"$name.log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=($recorder)
  records() {
    grep -qs 1 $TRACEFS/instances/sonda-*/events/raw_syscalls/sys_enter/enable &&
      grep -qs 1 $TRACEFS/instances/sonda-*/events/sched/sched_process_exec/enable && [ -s "$name.trace" ]
  }
  wait_for records
  during >"$name.pids"
  kill -INT $recorder
  wait $recorder
  "$helpers/trace_lines" "$name.trace" >"$name.lines"
}
# Each process of the file made 100 calls and one exec that are in the trace.
complete() { # NAME PIDS
  [ -s "$2" ] && while read -r pid; do
    awk -v pid="$pid" -v call="1=$GETPPID" '$2 == "sys_enter" && $8 == pid && $9 == call { calls++ }
      $2 == "sched_process_exec" && $8 == pid { execs++ }
      END { if (calls != 100 || execs != 1) { print pid ": " calls + 0 " calls, " execs + 0 " execs"; exit 1 } }' "$1.lines" || return 1
  done <"$2"
}
absent() { # NAME PIDS: no call of these
  ! awk 'NR == FNR { of[$1]; next } $2 == "sys_enter" && $8 in of' "$2" "$1.lines" | grep .
}
members() { "$helpers/group_calls" "$CG/$group$1" "$2" "$3"; }

# ---- a group that exists, with a process

mkdir "$CG/$group"
sh -c "echo \$\$ >'$CG/$group/cgroup.procs'; read -r x <fifo; mkdir '$CG/$group/later'; '$helpers/group_calls' '$CG/$group/later' 5 clone; '$helpers/group_calls' '$CG/$group' 5 stay" >inside.pids &
PIDS+=($!)
mkfifo fifo
has_member() { [ -s "$CG/$group/cgroup.procs" ]; }
wait_for has_member
during() {
  echo go >fifo
  wait "${PIDS[0]}"
  members "" 10 clone
  members "" 10 move
}
record existing --cgroup "/$group"
cat inside.pids existing.pids >all.pids
complete existing all.pids >why
verdict "a group: children, groups made later, CLONE_INTO_CGROUP and moves are complete" $? why existing.log

during() { # four processes at a time start 50 members each
  local i started=()
  for i in 1 2 3 4; do
    members "" 50 clone >many.$i &
    started+=($!)
  done
  wait "${started[@]}"
  cat many.?
}
record many --cgroup "/$group"
[ "$(wc -l <many.pids)" = 200 ] && awk -v call="1=$GETPPID" 'NR == FNR { of[$1]; next } $8 in of && $2 == "sys_enter" && $9 == call { calls[$8]++ }
  $8 in of && $2 == "sched_process_exec" { execs[$8]++ }
  END { for (p in of) if (calls[p] != 100 || execs[p] != 1) { bad = 1; print p ": " calls[p] + 0 " calls, " execs[p] + 0 " execs" } exit bad }' \
  many.pids many.lines >why && grep -qE '^  lost +nothing' many.log
verdict "200 processes that start in a short time are complete, and nothing is lost" $? why many.log
# The stranger's parent is older than the recording: children of this shell are recorded.
mkfifo stranger
sh -c "read -r pid <stranger; '$helpers/group_calls' '$CG' 1 pid=\$pid" >again.pid 2>again.err &
PIDS+=($!)
stranger=$!
during() {
  members "" 1 clone | tee one.pid
  sleep 1 # the kernel takes the pid off its list when it frees the thread; it gives a pid again much later
  cat one.pid >stranger
  wait $stranger
}
record reused --cgroup "/$group"
if [ -s again.pid ] && cmp -s one.pid again.pid; then
  complete reused one.pid >why
  verdict "a stranger that gets the pid of a member that has ended is not recorded" $? why reused.log
else
  skip "a stranger that gets the pid of a member that has ended is not recorded" "$(tail -n 1 again.err)"
fi

# ---- awaited: the group is made during the recording

find "$CG/$group" -depth -type d -exec rmdir {} +
during() {
  mkdir "$CG/$group-late"
  "$helpers/group_calls" "$CG/$group-late" 10 clone
  "$helpers/group_calls" "$CG/$group-late" 10 move
}
record late --await --cgroup "/$group-late"
complete late late.pids >why
verdict "a group that starts later is complete from its first exec, 20 of 20" $? why late.log

# ---- who else is in the trace

printf '#!/bin/sh\nwhile sleep 0.05; do %s; done\n' "$helpers/group_calls" >by_name
chmod +x by_name
./by_name &
PIDS+=($!)
by_name_runs() { grep -qx by_name "/proc/${PIDS[-1]}/comm"; }
wait_for by_name_runs
during() {
  setsid "$helpers/group_calls" "$CG" 5 stay
  sleep 0.5
}
record strangers -p by_name
grep -q ' sys_enter ' strangers.lines && absent strangers strangers.pids >why
verdict "-p NAME: the processes of that name and their children, and no others" $? why strangers.log

# ---- programs

cp "$helpers/group_calls" "$TMP/a_program_with_a_long_name"
cp "$helpers/group_calls" "$TMP/qu'ote*"
during() {
  for i in 1 2 3 4 5; do ./a_program_with_a_long_name & echo $!; wait $!; done
  ./"qu'ote*" >&2
}
record program --await --program a_program_with_a_long_name
complete program program.pids >why
verdict "a program that starts later is complete, by the first 15 characters of its name" $? why program.log
[ "$(awk '$2 == "sys_enter" { n++ } END { print n + 0 }' program.lines)" = 500 ]
verdict "and no other program" $? program.log
during() { ./"qu'ote*" & echo $!; wait $!; ./a_program_with_a_long_name; }
record quoted --await --program "qu'ote*"
complete quoted quoted.pids >why && [ "$(awk '$2 == "sys_enter" { n++ } END { print n + 0 }' quoted.lines)" = 100 ]
verdict "a name with a quote and a star is compared byte by byte" $? why quoted.log
printf '#!/bin/sh\nexec %s\n' "$TMP/a_program_with_a_long_name" >script
chmod +x script
during() { ./script & echo $!; wait $!; }
record script --await --program script
[ "$(awk -v pid="$(cat script.pids)" '$2 == "sched_process_exec" && $8 == pid' script.lines | wc -l)" = 1 ] &&
  [ "$(grep -c ' sys_enter ' script.lines)" -lt 10 ] # the shell itself calls getppid(2)
verdict "a script has its own name, until it executes another program" $? script.log

# A wakeup has two threads: the one that runs (COMM of a filter) and the one that is woken (the field comm of the event).
for name in a b c d; do cp "$(command -v cat)" "wakes_$name"; done
mkfifo ab ba cd dc
during() {
  local pids=()
  ./wakes_a <>ba >ab & pids+=($!)
  ./wakes_b <>ab >ba & pids+=($!)
  ./wakes_c <>dc >cd & pids+=($!)
  ./wakes_d <>cd >dc & pids+=($!)
  printf x >ab
  printf x >cd
  sleep 0.5
  kill "${pids[@]}"
  wait "${pids[@]}" 2>/dev/null
}
record wakes --await --program wakes_a sched_waking
"$SONDA" sql --csv wakes.trace "select iif(thread.name glob 'wakes_*', thread.name, 'other') || ' wakes ' ||
  iif(w.comm glob 'wakes_*', w.comm, 'other') as what, count(*) as n from (select utid, extract_arg(arg_set_id, 'comm') as comm
  from ftrace_event where name = 'sched_waking') w join thread using (utid) group by 1" 2>>wakes.log | tail -n +2 | tr -d '"\r' >wakes
awk -F, '{ n[$1] = $2 } END { exit !(n["wakes_a wakes wakes_b"] > 100 && n["wakes_b wakes wakes_a"] > 100) }' wakes
verdict "a program's wakeups are those by its threads and those of its threads" $? wakes wakes.log
! grep -v wakes_a wakes >strangers
verdict "and no others" $? strangers wakes

# ---- odd paths, and names that are refused

odd=$group-$'a\\x2d \xff'
mkdir -p "$CG/$odd/$(printf 'd/%.0s' {1..34})"
during() { "$helpers/group_calls" "$CG/$odd/$(printf 'd/%.0s' {1..34})" 3 clone; }
record odd --cgroup "/$odd"
complete odd odd.pids >why
verdict "a path with a backslash, a space, no UTF-8 and 35 levels" $? why odd.log

mkdir -p "$CG/$group-1/x.service" "$CG/$group-2/x.service"
refuses() { # WHAT ARGS...
  local what=$1
  shift
  ! timeout 60 "$SONDA" record -t 1 -o refused.trace "$@" sched >refused.log 2>&1 && grep -q "$what" refused.log
}
refuses "2 units are named 'x': .*$group-[12]/x.service, .*$group-[12]/x.service" --unit x
verdict "an ambiguous name is refused with the candidates" $? refused.log
refuses "no control group is named '/$group-9'; did you mean /$group-" --cgroup "/$group-9"
verdict "an unknown name is refused with the nearest" $? refused.log
refuses "no process is named 'no-such-name'" --program no-such-name
verdict "and so is an unknown program" $? refused.log
refuses "cannot be combined" --program sh --cgroup "/"
verdict "programs and groups are refused together" $? refused.log

# ---- the same subject for other data sources

# Each uses the CPU and waits for a child.
printf '#!/bin/sh\nwhile sleep 0.01; do i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; done\n' >in_group
cp in_group outside
chmod +x in_group outside
mkdir "$CG/$group-one"
sh -c "echo \$\$ >'$CG/$group-one/cgroup.procs'; exec ./in_group" &
PIDS+=($!)
./outside &
PIDS+=($!)
has_threads() { # QUERY: those of the group, and none outside
  "$SONDA" sql --csv others.trace "$1" 2>>others.log | tail -n +2 | tr -d '"\r' >threads
  grep -qx in_group threads && ! grep -qx outside threads
}
"$SONDA" record -t 2 -o others.trace --cgroup "/$group-one" -g waits >others.log 2>&1
has_threads "select distinct thread.name from perf_sample join thread using (utid)"
verdict "linux.perf samples the processes of the group" $? others.log threads
if grep -q 'waits.*could not be loaded' others.log; then
  skip "linux.waits has waits of the group only" "this kernel cannot run its programs"
else
  has_threads "select distinct t.name from slice s join thread_track tt on tt.id = s.track_id join thread t using (utid)"
  verdict "linux.waits has waits of the group only" $? others.log threads
fi

# In a namespace of control groups /proc has other paths, as in a container whose mount of control groups is the host's.
mkdir "$CG/$group-recorder"
cat >in_namespace <<RECORDER
#!/bin/sh
echo \$\$ >'$CG/$group-recorder/cgroup.procs'
exec unshare -C '$SONDA' record -t 2 -o others.trace --cgroup '/$group-one' -g
RECORDER
chmod +x in_namespace
if unshare -C true 2>/dev/null; then
  ./in_namespace >others.log 2>&1
  has_threads "select distinct thread.name from perf_sample join thread using (utid)"
  verdict "so it does in a namespace of control groups" $? others.log threads
else
  skip "so it does in a namespace of control groups" "there are none here"
fi

no_instances
verdict "no instance is left" $?
exit "$BAD"
