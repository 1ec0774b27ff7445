#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# Which waits linux.waits records: those of a command or a process and their children, of a program, in a state, above a
# threshold, at most so many a second. A program outside of the command waits all the time.
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3
cd "$TMP" || exit 2
cat >naps.py <<'PY'
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
until = time.monotonic() + float(sys.argv[2])
i = 0
while time.monotonic() < until:
    time.sleep(0.002 if i % 2 else 0.03)
    i += 1
PY
naps() { # NAME SECONDS: a process of this name that sleeps 2 ms and 30 ms by turns
  exec /usr/bin/python3 -S naps.py "$1" "$2"
}
(naps outside 60) &
outside=$!
PIDS+=($outside)
sh -c 'for i in $(seq 500); do [ -e go ] && break; sleep 0.02; done; /usr/bin/python3 -S naps.py of_child 0.2; sleep 0.1' 2>>log &
parent=$!
PIDS+=($parent)
cat >command.sh <<'COMMAND'
/usr/bin/python3 -S naps.py inside 0.3 &
wait
COMMAND

ask() { # TRACE QUERY
  "$SONDA" sql --csv "$1" "$2" 2>>log | tail -n +2 | tr -d '"\r'
}
names() { # TRACE: the programs above that totals or single waits have
  ask "$1" "select distinct p.cmdline from process p where p.upid in (select c.upid from stack_sample s
      join stack_sample_task_context c on c.id = s.task_context_id where s.source = 'linux.waits')
      or p.upid in (select t.upid from slice join thread_track tt on tt.id = track_id join thread t using (utid) where dur > 0)" |
    sed -n 's/^.usr.bin.python3 -S naps.py \([a-z_]*\) .*/\1/p' | sort -u | tr '\n' ' '
}
record() { # NAME ARGS...: into NAME
  "$SONDA" record -o "$@" >log 2>&1
  verdict "sonda record ${*:2}" $? log
}

record command waits -- sh command.sh
names command >got
[ "$(cat got)" = "inside " ]
verdict "  has the waits of the command and its children only" $? got

record pid waits -p $parent -- sh -c ': >go; sleep 0.8'
names pid >got
[ "$(cat got)" = "of_child " ]
verdict "  has the waits of a child that began later" $? got

record all -t 0.4s waits --waits program=outside,min=20ms
names all >got
[ "$(cat got)" = "outside " ]
verdict "  has the waits of the program only" $? got
ask all "select count(*), sum(dur < 20000000), (select count(*) from stack_sample) from slice where dur > 0" >got
awk -F, '{ exit !($1 > 3 && $2 == 0 && $3 > 0) }' got
verdict "  and single waits above the threshold only" $? got
ask all "select sum(v.value) from stack_sample_counter v join stack_sample_counter_track t on t.id = v.track_id where t.name = 'waits'" >totals
awk -v single="$(cut -d, -f1 got)" '{ exit !($1 > single) }' totals
verdict "  while totals have the short ones, too" $? totals got

# A stranger begins all the time, so its file is mapped anew.
cp "$(type -P true)" stranger
(for _ in $(seq 100); do ./stranger; sleep 0.02; done) &
record tables -t 0.8s waits -p $outside
wait $!
ask tables "select value from stats where name = 'sonda_unwind_files'" >got
awk '$2 ~ /x/ && $6 ~ /^\// { print $6 }' "/proc/$outside/maps" | sort -u >mapped
awk -v mapped="$(wc -l <mapped)" '{ exit !($1 > 1 && $1 <= mapped + 1) }' got # and the vDSO
verdict "  has unwind rows of the files of the selected process only" $? got mapped

record states -t 0.5s waits --waits state=D -a -- sh -c 'dd if=/dev/zero of=file bs=4k count=64 oflag=dsync 2>/dev/null; sleep 0.1'
ask states "select sum(extract_arg(arg_set_id, 'debug.state') != 'D') from slice where name != '' and extract_arg(arg_set_id, 'debug.state') is not null" >got
awk '{ exit !($1 == "" || $1 == 0) }' got
verdict "  has no wait in another state" $? got
names states >got
[ ! -s got ]
verdict "  and nothing of programs that sleep" $? got

record rate -t 0.6s waits -a --waits rate=16,min=1us,program=outside
ask rate "select count(*), (select value from stats where name = 'sonda_waits_left_out') from slice where dur >= 0" >got
# 16 parts of a second, each with one wait of each CPU; and one part more at either end.
awk -F, -v cpus="$(nproc)" '{ exit !($1 > 0 && $1 <= 18 * cpus && $2 > 0) }' got
verdict "  has at most 16 single waits a second of each CPU, and counts the others" $? got
exit $BAD
