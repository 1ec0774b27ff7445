#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
# check: long
# kernels: none
#
# sonda top by control group, program and thread, against the kernel's own numbers: cpu.stat of groups that this test makes,
# with processes that begin and end between two screens; schedstat of threads. What --cgroup and --program select. The tree.
. "$(dirname "$0")/lib.sh"
for CG in /sys/fs/cgroup /sys/fs/cgroup/unified; do [ ! -e $CG/cgroup.controllers ] || break; done
[ -e $CG/cgroup.controllers ] || { echo "no control groups of version 2" >&2; exit 77; }
group=sonda-top-$$
end() {
  stop_all KILL
  for _ in $(seq 100); do
    find "$CG/$group" -depth -type d -exec rmdir {} + 2>/dev/null
    [ -e "$CG/$group" ] || break
    sleep 0.05
  done
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT
mkdir -p "$CG/$group/busy/forks" "$CG/$group/other"
TOP=

start_top() { # OPTION...: sonda top, in the background; returns when it has shown a screen
  : >"$TMP/screens"
  "$BIN/sonda" top --json -d 0.5 "$@" >"$TMP/screens" 2>"$TMP/top.err" </dev/null &
  TOP=$!
  PIDS+=("$TOP")
  wait_for test -s "$TMP/screens"
}
stop_top() {
  kill "$TOP"
  wait "$TOP"
}
settle() {
  local n
  n=$(wc -l <"$TMP/screens")
  wait_for eval "[ \$(wc -l <'$TMP/screens') -ge $((n + 3)) ]"
}
ask() { # PYTHON: an expression; s is the last whole screen
  grep '}$' "$TMP/screens" | tail -n 1 | python3 -c 'import json, sys; s = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}
cpu_of() { ask "sum(g['cpu_ns'] for g in s['subjects'] if g['name'] == '$1')"; } # SUBJECT
usage_of() { awk '/^usage_usec/ { printf "%.0f", $2 * 1000 }' "$CG/$1/cpu.stat"; }
# Interrupts and what the hypervisor took, in ns: the kernel does not count them as the process's time, the switches do.
others() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / { printf "%.0f", ($7 + $8 + $9 + 2) * 1e9 / hz }' /proc/stat; }
is_near() { # WHAT OURS THEIRS PER_CENT MORE: less than that apart
  echo "$1: ours ${2:-none}, theirs $3, may be $5 more" >>"$TMP/near"
  awk -v a="${2:-0}" -v b="$3" -v p="$4" -v more="$5" 'BEGIN { d = a - b; exit !(a > 0 && b > 0 && d >= -b * p / 100 && d <= b * p / 100 + more) }'
}
# Kernels of some virtual machines leave out switches of the first process's threads, and top takes back the time of the thread
# before. Then the load is run again, at most twice.
thrice() { # COMMAND...
  for _ in 1 2 3; do
    : >"$TMP/near"
    "$@" && return
  done
  return 1
}
is_asleep() { [ "$(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null)" = S ]; }

# ---- control groups

# A loop in one group, and processes that live for a few milliseconds in a group below it.
mkfifo "$TMP/end"
exec 5<>"$TMP/end"
measure_groups() {
  local before more forked
  [ -z "$TOP" ] || { kill "$loop" "$forks" && stop_top; }
  rmdir "$CG/$group/busy/forks" "$CG/$group/busy"
  mkdir -p "$CG/$group/busy/forks"
  start_top --by cgroup
  before=$(others)
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$1/cgroup.procs"; for ((i = 0; i < $2; i++)); do :; done; read -r line <"$3"' - "$CG/$group/busy" "$(scaled 400000)" "$TMP/end" &
  loop=$!
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$1/cgroup.procs"; for ((i = 0; i < $2; i++)); do (for ((j = 0; j < 2000; j++)); do :; done); done; read -r line <"$3"' - "$CG/$group/busy/forks" "$(scaled 60)" "$TMP/end" &
  forks=$!
  PIDS+=("$loop" "$forks")
  both_wait() { is_asleep "$loop" && is_asleep "$forks" && ! pgrep -P "$forks"; }
  wait_for both_wait
  settle
  more=$(($(others) - before))
  forked=$(cpu_of "/$group/busy/forks")
  is_near "short processes" "$forked" "$(usage_of "$group/busy/forks")" 1 "$more" &&
    is_near "with those below" $((forked + $(cpu_of "/$group/busy"))) "$(usage_of "$group/busy")" 1 "$more"
}
thrice measure_groups
verdict "CPU time of groups is that of cpu.stat, within 1 %, also of short processes" $? "$TMP/near"
[ "$(ask "[p['cgroup'] for p in s['processes'] if p['pid'] == $forks][0]")" = "/$group/busy/forks" ]
verdict "a process has the path of its group" $? "$TMP/screens"
# shellcheck disable=SC2319
[ "$(ask "[p['parent_pid'] for p in s['processes'] if p['pid'] == $forks][0]")" = $$ ]
verdict "and its parent" $? "$TMP/screens"
[ "$(ask "s['lost']['members']")" = 0 ]
verdict "no change of a group was lost" $? "$TMP/screens"
stop_top

start_top --by cgroup --tree
settle
[ "$(ask "[g['count'] for g in s['subjects'] if g['name'] == '/$group']")" = "[2]" ]
verdict "in a tree a group has the sums of all below it" $? "$TMP/screens"
stop_top

# ---- what is selected

start_top --cgroup "/$group/busy"
settle
ask "sorted(p['pid'] for p in s['processes'])" >"$TMP/pids"
[ "$(<"$TMP/pids")" = "$(printf '[%d, %d]' $((loop < forks ? loop : forks)) $((loop < forks ? forks : loop)))" ]
verdict "--cgroup shows the processes in the group and below it" $? "$TMP/pids"
stop_top
start_top --program sonda-top-load
cp "$(command -v sleep)" "$TMP/sonda-top-load"
"$TMP/sonda-top-load" 1000 &
late=$!
PIDS+=("$late")
shows_late() { [ "$(ask "[p['pid'] for p in s['processes']]")" = "[$late]" ]; }
wait_for shows_late
verdict "--program shows one that starts later, and no other process" $? "$TMP/screens"
stop_top
kill "$late"
"$BIN/sonda" top -n 1 --unit sonda-no-such-unit >"$TMP/out" 2>&1
[ $? = 1 ] && grep -q "no unit is named 'sonda-no-such-unit'" "$TMP/out"
verdict "an unknown unit is refused" $? "$TMP/out"
if command -v setpriv >/dev/null; then
  caps=-bpf,-perfmon,-sys_admin
  setpriv --bounding-set "$caps" --inh-caps "$caps" "$BIN/sonda" top -n 1 --cgroup "/$group" >"$TMP/out" 2>&1
  [ $? = 1 ] && grep -q "^sonda: --unit, --container, --pod, --cgroup and --program need eBPF counters: .*CAP_BPF" "$TMP/out"
  verdict "without CAP_BPF it says that a selection needs it" $? "$TMP/out"
fi

# ---- threads

cat >"$TMP/threads" <<'PYTHON'
import sys, threading
go = threading.Event()
def work(n):
    go.wait()
    for _ in range(n):
        pass
    done.wait()
done = threading.Event()
threads = [threading.Thread(target=work, args=(int(sys.argv[1]) * k,), daemon=True) for k in (1, 2, 3)]
for t in threads:
    t.start()
sys.stdin.readline()
go.set()
sys.stdin.readline()
PYTHON
mkfifo "$TMP/steps"
measure_threads() {
  local task tid ran before more good=0
  declare -A before_of
  exec 6<>"$TMP/steps"
  python3 "$TMP/threads" "$(scaled 6000000)" <"$TMP/steps" &
  python=$!
  PIDS+=("$python")
  waits() { [ "$(find "/proc/$python/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" = 4 ] && ! grep -qE '^State:[[:space:]]R' /proc/$python/task/*/status; }
  wait_for waits
  for task in "/proc/$python/task"/*; do
    read -r "before_of[${task##*/}]" _ <"$task/schedstat"
  done
  start_top -H -p "$python"
  settle
  before=$(others)
  echo >&6
  have_run() { waits && awk '{ exit !($1 > 1000000) }' /proc/$python/task/*/schedstat; }
  wait_for have_run
  settle
  more=$(($(others) - before))
  for task in "/proc/$python/task"/*; do
    tid=${task##*/}
    [ "$tid" != "$python" ] || continue
    read -r ran _ <"$task/schedstat"
    is_near "thread $tid" "$(ask "sum(p['cpu_ns'] for p in s['threads'] if p['tid'] == $tid and p['pid'] == $python)")" $((ran - before_of[$tid])) 2 "$more" &&
      good=$((good + 1))
  done
  ask "len(s['threads'])" >"$TMP/threads.n"
  stop_top
  kill "$python"
  [ $good = 3 ]
}
thrice measure_threads
verdict "CPU time of each thread is that of its schedstat, within 2 %" $? "$TMP/near"
[ "$(<"$TMP/threads.n")" = 4 ]
verdict "the threads of the process, and no others" $? "$TMP/screens"
exec 6>&-
no_instances
verdict "nothing is left" $?
exit $BAD
