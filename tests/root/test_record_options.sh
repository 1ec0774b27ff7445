#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: top
#
# `sonda record` with all that it offers of linux.ftrace, on the real kernel: each option has its effect, in the
# session's instance and in the trace; what the kernel does not have is reported, and the rest records. Top level stays as it is.
. "$(dirname "$0")/lib.sh"

helpers=$B/tests/root
case $helpers in /*) ;; *) helpers=$PWD/$helpers ;; esac
# Numbers of system calls.
case $(uname -m) in
x86_64) GETPPID=110 UNAME=63 ;;
*) GETPPID=173 UNAME=160 ;;
esac


# Files of the instance of the recording that runs.
cat >"$TMP/look" <<LOOK
#!/bin/bash
for i in $TRACEFS/instances/sonda-*; do
  pid=\${i##*/sonda-} pid=\${pid%%-*}
  grep -qzxF "SONDA_TEST=$TMP" /proc/\$pid/environ || continue
  # That of the session before is off, and may not be gone yet.
  [ "\$(cat "\$i/tracing_on")" = 1 ] || continue
  cd "\$i" && cat "\$@"
done
LOOK
chmod 755 "$TMP/look"

record() { # EXPECTED EXIT CODE, ARGS...: words in $TMP/log, the command's in $TMP/out, the trace's in $TMP/lines
  local expected=$1 status
  shift
  rm -f "$TMP/trace"
  timeout 60 "$BIN/sonda" record -o "$TMP/trace" "$@" >"$TMP/out" 2>"$TMP/log" </dev/null
  status=$?
  : >"$TMP/lines"
  [ ! -e "$TMP/trace" ] || "$helpers/trace_lines" "$TMP/trace" >"$TMP/lines"
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}
said() { grep -qE -- "$1" "$TMP/log" || { echo "not said: $1" >>"$TMP/log"; return 1; }; }
not_said() { ! grep -qE -- "$1" "$TMP/log"; }
check() { verdict "$1" "$2" "$TMP/log"; }
count() { grep -cE -- "$1" "$TMP/lines"; }
same() { # FILE FILE
  diff "$1" "$2" >>"$TMP/log"
}

picture | sed -n '/^tracing_on/,$p' >"$TMP/before"

# One pair of daemons for all recordings: what they leave behind after one would be in the way of the next.
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"

# ---- which events ----

# Not what other sessions have made for themselves.
events=$TMP/events
grep -vE '^sonda_[0-9]+_[0-9]+_[0-9]+:' $TRACEFS/available_events >"$events"
# Events that are on for the sake of process names are not what was asked for.
asked() { grep -vxE 'task:(task_newtask|task_rename)|sched:(sched_process_exec|sched_process_fork|sched_process_exit|sched_process_free)|raw_syscalls:sys_exit' "$1" | sort; }

record 0 'sched:*' '!sched_stat_*' '!sched:sched_mo*' -- "$TMP/look" set_event
grep '^sched:' $events | grep -vE ':sched_(stat_|mo)' >"$TMP/expected"
same <(asked "$TMP/expected") <(asked "$TMP/out") && not_said missing
check "a group without some of it" $?

record 0 -e '*irq*' -- "$TMP/look" set_event
grep ':.*irq' $events >"$TMP/expected"
same <(asked "$TMP/expected") <(asked "$TMP/out") && [ -s "$TMP/expected" ] && not_said missing
check "a pattern over all groups" $?

record 0 sched_switch,softirq_entry -- "$TMP/look" set_event && not_said missing
printf '%s\n' irq:softirq_entry sched:sched_switch >"$TMP/expected"
same "$TMP/expected" <(asked "$TMP/out")
check "bare names" $?

record 0 irq idle timer -- "$TMP/look" set_event && not_said missing
grep -E '^(irq|timer):|^power:cpu_idle$' $events >"$TMP/expected"
same <(sort "$TMP/expected") <(asked "$TMP/out")
check "words for several events, and names of groups" $?

record 0 -b 256mb '*' -- "$TMP/look" set_event
same <(sort $events) <(sort "$TMP/out") && not_said missing && [ "$(grep -c '^event' "$TMP/lines")" -gt 100 ]
check "every event of the kernel" $?

# One of each group is left out, so that hardly any can be asked for as a whole.
mapfile -t but < <(sort -t: -u -k1,1 $events)
record 0 -b 256mb '*' "${but[@]/#/!}" -- "$TMP/look" set_event
printf '%s\n' "${but[@]}" | sort >"$TMP/but"
same <(asked <(comm -23 <(sort $events) "$TMP/but")) <(asked "$TMP/out") && not_said missing
check "every event but one of each group" $?

record 3 --strict sched_switch '!sched_wakin' softirq_enty 'no*such' -- true &&
  said "missing +'!sched_wakin' matches no event to exclude; did you mean sched/sched_waking\?" &&
  said "event 'softirq_enty' does not exist; did you mean irq/softirq_entry\?" &&
  said "no event matches 'no\*such'" &&
  [ "$(count '^(event|switch)')" -gt 0 ]
check "what does not exist is reported with the nearest, and the rest records" $?

record 2 sched sleep 5 && said "'sleep' is a program, not an event; put a command after --" && [ ! -e "$TMP/trace" ]
check "a command without its --" $?

record 2 'sched:*' '!*' -- true && said "name at least one other event" && [ ! -e "$TMP/trace" ]
check "nothing is left" $?

# ---- what restricts and accompanies them ----

record 0 --strict raw_syscalls:sys_enter --filter "id == $GETPPID || id == $UNAME" --filter "id != $UNAME" -- \
  "$helpers/do_calls" getppid=20 uname=10
pid=$(head -n 1 "$TMP/out")
[ "$(count '^event sys_enter ')" = 20 ] && [ "$(count "^event sys_enter .* pid $pid 1=$GETPPID ")" = 20 ]
check "--filter, twice: both must hold" $?

record 3 --strict 'raw_syscalls:*' --filter 'id == 1 && nosuch == 2' sched_switch -- true &&
  said 'missing +events raw_syscalls/sys_e(xit|nter), raw_syscalls/sys_e(nter|xit) could not be recorded: filter refused: Field not found$' &&
  said '^             id == 1 && nosuch == 2$' && said '^ +\^$' && [ "$(count '^(event sched_|)switch')" -gt 0 ]
check "a filter that the kernel refuses: its words, its place, and the rest records" $?

for also in '' sched_waking; do
  for how in '' -q --json '-b 1mb'; do
    # shellcheck disable=SC2086 # words
    record 2 $how $also sched_switch --filter 'prev_pid ===' -- touch "$TMP/ran" && { [ "$how" = -q ] || {
      said 'event sched/sched_switch could not be recorded: filter refused' && said '^ +\^$'; }; } && said '^sonda: nothing was recorded: a filter or a probe is wrong$' && [ ! -e "$TMP/trace" ] && { [ "$how" = '-b 1mb' ] || [ ! -e "$TMP/ran" ]; }
    check "a misspelled filter${also:+ beside another event}${how:+ with $how}: no command, no trace, exit code 2" $?
    rm -f "$TMP/ran"
  done
done
record 1 --strict -q 'raw_syscalls:*' --filter 'nosuch == 2' -- true && said '^sonda: nothing was recorded' && [ ! -e "$TMP/trace" ]
check "all events of a pattern are refused, and nothing else was asked for: a failure, and no trace" $?
# shellcheck disable=SC2016 # the command's
record 0 'raw_syscalls:*' --filter 'id == 1 && nosuch == 2' sched_waking -- sh -c 'for _ in $(seq 150); do
  grep -q "^sonda: events raw_syscalls/.* could not be recorded: filter refused" "$0" && echo reported && break; sleep 0.1; done' "$TMP/log" &&
  grep -qx reported "$TMP/out"
check "what a pattern has is reported while the recording runs, and is no failure without --strict" $?

# Triggers of an instance are the session's own, unless the kernel has them only for all tracers.
own_or_reported() { [ "$1" = 0 ] || said 'missing +ftrace option event_triggers: .*act on all tracers'; }

record 0 raw_syscalls:sys_enter --filter "id == $GETPPID" --trigger "stacktrace if id == $GETPPID" -- \
  "$helpers/do_calls" getppid=5 && [ "$(count '^event sys_enter ')" = 5 ] && [ "$(count '^event kernel_stack ')" = 5 ]
own_or_reported $?
check "--trigger stacktrace: a stack for each" $?

record 0 raw_syscalls:sys_enter --trigger "traceoff:1 if id == $UNAME" -- "$helpers/do_calls" getppid=5 uname=1 getppid=7 &&
  [ "$(count " 1=$GETPPID ")" = 5 ]
own_or_reported $?
check "--trigger traceoff: nothing after it" $?

record 3 --strict sched_switch --trigger 'traceoff if nosuch == 1' -- true &&
  said 'missing +trigger on event sched/sched_switch was refused: ' && said '^ +\^$'
own_or_reported $?
check "a trigger that the kernel refuses" $?

record 2 --syscalls getppid,nosuch -- "$helpers/do_calls" getppid=4 && said "there is no system call 'nosuch'" && [ ! -s "$TMP/trace" ]
check "--syscalls: a name that is none" $?
record 0 --strict --syscalls getppid,sys_uname -- "$helpers/do_calls" getppid=4 uname=3 &&
  [ "$(count "^event sys_enter .* 1=$GETPPID ")" = 4 ] && [ "$(count "^event sys_enter .* 1=$UNAME ")" = 3 ] &&
  [ "$(count '^event sys_enter ')" = 7 ]
check "--syscalls: those and no others" $?

# ---- of whom ----

# Names of the processes that events are of; of a switch the one that comes next.
pids_in_trace() { awk '{ for (i = 2; i < NF; i++) if ($i == "pid") print $(i + 1) }' "$TMP/lines" | sort -u; }

record 0 --strict raw_syscalls:sys_enter -- "$helpers/do_calls" getppid=20 fork=2 thread=1
sed 's/.* //' "$TMP/out" | sort -u >"$TMP/expected"
same "$TMP/expected" <(pids_in_trace) && [ "$(count " 1=$GETPPID ")" = 41 ] &&
  said "ended +'.*do_calls' exited with code 0"
check "a command: it and its children, and no other process" $?

record 0 -a raw_syscalls:sys_enter -- sh -c 'sleep 0.2 & wait'
[ "$(pids_in_trace | wc -l)" -gt 3 ]
check "-a: everybody" $?

# A process that forks when it is reported to.
mkfifo "$TMP/go"
"$helpers/do_calls" thread=1 wait getppid=9 fork=2 <>"$TMP/go" >"$TMP/pids" 2>&1 &
PIDS+=($!)
wait_for [ -s "$TMP/pids" ]
pid=$(head -n 1 "$TMP/pids")
record 0 --strict -p "$pid" raw_syscalls:sys_enter --filter "id == $GETPPID" -- \
  sh -c "echo >'$TMP/go'; while [ -e /proc/$pid/status ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done"
{ echo "$pid"; sed -n 's/^child //p' "$TMP/pids"; } | sort -u >"$TMP/expected"
same "$TMP/expected" <(pids_in_trace) && [ "$(count '^event sys_enter ')" = 23 ]
check "-p: a process and the children that it gets, not the command" $?

# Timers end the naps, whomever they interrupt.
cp "$(command -v sleep)" "$TMP/my_nap"
naps="for _ in 1 2 3 4 5 6; do '$TMP/my_nap' 0.01; done"
in_interrupts() { # the wakeups from naps, by irq_context
  "$BIN/sonda" sql --csv "$TMP/trace" "select r.irq_context, count(*) from thread_state r join thread_state s on s.utid = r.utid and
    s.ts + s.dur = r.ts and s.state = 'S' join thread t on t.utid = r.utid where t.name = 'my_nap' and r.state = 'R' group by 1" 2>>"$TMP/log"
}
record 0 -a sched -- sh -c "$naps" && in_interrupts >"$TMP/expected" && grep -q ^1,6 "$TMP/expected"
check "-a: interrupts end the naps of a command" $?
record 0 sched -- sh -c "$naps" && same "$TMP/expected" <(in_interrupts)
check "of a command alone: its wakeups by interrupts are the same" $?
"$BIN/sonda" report why --json my_nap "$TMP/trace" 2>>"$TMP/log" | python3 -c '
import json, sys
chain = json.load(sys.stdin)["Chain of wakers"]
sys.exit([c["woken_by"] for c in chain] != ["interrupt"])' 2>>"$TMP/log"
check "report why: its chain of wakers ends at the interrupt" $?

late_naps() { # how many naps have a time by which their timer was late; "None" if that is not known
  "$BIN/sonda" report latency --json "$TMP/trace" 2>>"$TMP/log" | python3 -c '
import json, sys
late = json.load(sys.stdin)["Late timers"]
print(late if late is None else sum(t["sleeps"] for t in late if t["thread"] == "my_nap" and t["max_ns"] >= 0))' 2>>"$TMP/log"
}
[ "$(late_naps)" = None ]
check "without timers it is not known whether the naps ended late" $?
record 0 sched timer -- sh -c "$naps" && [ "$(late_naps)" -ge 5 ]
check "with timer it is known of each nap of a command by how much" $?

record 1 -p 2147483647 sched -- touch "$TMP/ran" && said '^sonda: -p: no process has the ID 2147483647$' &&
  [ ! -e "$TMP/trace" ] && [ ! -e "$TMP/ran" ]
check "-p: a process that is not there: nothing begins, nothing is left" $?

last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/present)
record 0 -a -C "$last" sched_switch raw_syscalls:sys_enter -- sh -c "'$TMP/look' tracing_cpumask; sleep 0.5"
[ "$(count '^(event|switch)')" -gt 0 ] && ! grep -E '^(event|switch)' "$TMP/lines" | grep -qvF " cpu $last "
check "-C: that CPU and no other" $?
cat >"$TMP/two.cfg" <<'CONFIG'
buffers { size_kb: 8192 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "raw_syscalls/sys_enter" } } }
CONFIG
record 0 -c "$TMP/two.cfg" -C "$last" -- sleep 0.5
[ "$(count '^event sys_enter')" -gt 0 ] && ! grep -E '^(event|switch)' "$TMP/lines" | grep -qvF " cpu $last "
check "-C with a config: of each linux.ftrace" $?
record 0 -c "$TMP/two.cfg" -p $$ -- sleep 0.5
! grep -E '^event sys_enter' "$TMP/lines" | grep -qvF " pid $$ "
check "-p with a config: of each linux.ftrace" $?
record 1 -C 0,8191 sched && said '-C: this machine has no CPU 8191; it has 0' && [ ! -e "$TMP/trace" ]
check "-C: a CPU that is not there" $?

# ---- the rings ----

record 0 --strict -a --clock mono_raw -B 1mb sched_switch -- "$TMP/look" trace_clock buffer_size_kb &&
  grep -qF '[mono_raw]' "$TMP/out" && [ "$(tail -n 1 "$TMP/out" | tr -dc '0-9')" -ge 1024 ] && [ "$(count '^clock 4')" -gt 0 ]
check "--clock and -B" $?
if [ -e $TRACEFS/buffer_subbuf_size_kb ]; then
  record 0 --strict -a --subbuf 16k sched_switch -- "$TMP/look" buffer_subbuf_size_kb && [ "$(cat "$TMP/out")" = 16 ]
  check "--subbuf" $?
else
  record 3 --strict -a --subbuf 16k sched_switch -- true && said 'subbuf_size_kb'
  check "--subbuf: reported that the kernel does not support it" $?
fi

# ---- what makes events of its own ----

if [ -e $TRACEFS/kprobe_events ]; then
  record 0 --strict --kprobe 'p:mine vfs_read count=$arg3' -- cat /etc/passwd && [ "$(count '^event mine ')" -gt 0 ]
  check "--kprobe LINE: its events are there" $?
  record 0 --strict --kprobe vfs_read --kretprobe vfs_read -- cat /etc/passwd && [ "$(count '^event kprobe_event ')" -gt 0 ]
  check "--kprobe and --kretprobe of a function" $?
  record 2 --kprobe 'p:mine vfs_read x=nosuch' sched_switch -- touch "$TMP/ran" && said 'kprobe_events' && said '^ +\^$' &&
    [ ! -e "$TMP/trace" ] && [ ! -e "$TMP/ran" ]
  check "a probe that is misspelled: its words and its place, no command, no trace" $?
else
  record 1 --kprobe vfs_read sched_switch -- touch "$TMP/ran" && said 'ftrace option kprobe_events: the kernel has no kprobe_events' &&
    said 'nothing was recorded: a filter, a probe or a tracer was refused' && [ ! -e "$TMP/trace" ] && [ ! -e "$TMP/ran" ]
  check "--kprobe that the kernel cannot have: no command, no trace" $?
fi
rm -f "$TMP/ran"
if [ -e $TRACEFS/uprobe_events ]; then
  # Its entry point: every program comes along there once.
  program=$helpers/do_calls
  entry=$(od -An -t x8 -j 24 -N 8 "$program" | tr -d ' ')
  record 0 --strict --uprobe "p:entry $program:0x$entry" -- "$program" getppid=1 && [ "$(count '^event entry ')" = 1 ]
  check "--uprobe" $?
  record 2 --uprobe "p:entry /nonexistent:0x1" sched_switch -- touch "$TMP/ran" && said 'uprobe_events' && [ ! -e "$TMP/trace" ] && [ ! -e "$TMP/ran" ]
  check "--uprobe of a file that is not there: no command, no trace" $?
  record 1 --uprobe "p:past $program:0x7fffffff" -- true && said 'nothing was recorded: a filter, a probe or a tracer was refused' && [ ! -e "$TMP/trace" ]
  check "of a place behind the end only: refused" $?
  record 0 --strict --uprobe "$program:main" --uprobe "p:again $program:main" -- "$program" getppid=1 && [ "$(count '^event main ')" = 1 ] &&
    [ "$(count '^event again ')" = 1 ]
  check "--uprobe of a function by its name" $?
  record 2 --uprobe "$program:mian" -- touch "$TMP/ran" && said "^sonda: --uprobe $program:mian: .* has no function 'mian'; did you mean main\?$" &&
    [ ! -e "$TMP/ran" ]
  check "--uprobe of a name that no function has: the nearest one, no command" $?
else
  skip "--uprobe" "the kernel has none"
fi

if grep -qw function_graph $TRACEFS/available_tracers; then
  record 0 --function-graph=vfs_read --function-depth 2 -- cat /etc/passwd && [ "$(count '^event funcgraph_entry ')" -gt 0 ] &&
    [ "$(count '^event funcgraph_exit ')" -gt 0 ]
  check "--function-graph" $?
else
  record 1 --function-graph=vfs_read sched_switch -- true && said 'enable_function_graph: the kernel has no such tracer' && [ ! -e "$TMP/trace" ]
  check "--function-graph that the kernel cannot have: a failure" $?
fi

# ---- a command's ends ----

record 1 sched -- /nonexistent/program && said "^sonda: cannot run '/nonexistent/program': No such file or directory$" &&
  [ ! -e "$TMP/trace" ]
check "a command that does not exist" $?

record 0 sched -- sh -c 'kill -SEGV $$' && said "ended +'sh' was killed by signal 11 \(Segmentation fault\)"
check "a command that is killed" $?

record 0 sched -- sh -c 'sleep 100 >/dev/null 2>&1 & echo $!' && said "'sh' exited with code 0" &&
  kill -KILL "$(cat "$TMP/out")"
check "a command that leaves a child behind: the recording does not wait for it" $?

: >"$TMP/signals"
timeout 60 "$BIN/sonda" record -o "$TMP/trace" sched -- sh -c "trap 'echo asked >>$TMP/signals' TERM INT; echo \$\$ >$TMP/pid
  while :; do sleep 0.05; done" >/dev/null 2>"$TMP/log" &
PIDS+=($!)
wait_for [ -s "$TMP/pid" ]
recorder=$(cat "/proc/$!/task/$!/children")
kill -TERM "${recorder% }"
wait_for grep -q asked "$TMP/signals"
verdict "a signal goes on to the command" $? "$TMP/log"
# A second one that comes at once is taken for the same.
wait_for grep -q 'again to stop and save' "$TMP/log"
kill -TERM "${recorder% }"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
said "is still running \(pid $(cat "$TMP/pid")\)" && is_whole "$TMP/trace"
check "the second one stops and saves, and leaves it running" $?
kill -KILL "$(cat "$TMP/pid")"

record 0 -t 1s sched -- sh -c "echo \$\$ >$TMP/pid; exec sleep 100 >/dev/null 2>&1" && said 'is still running'
check "-t ends the recording, not the command" $?
kill -KILL "$(cat "$TMP/pid")"

# ---- not as root, with daemons that are ----

if command -v setpriv >/dev/null; then
  chmod 755 "$TMP"
  chmod 777 "$PERFETTO_CONSUMER_SOCK_NAME"
  mkdir -m 777 "$TMP/open"
  cp "$BIN/sonda" "$TMP/open"
  as_nobody() { # ARGS...
    setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/open/sonda" record -o "$TMP/open/trace" "$@" \
      >"$TMP/out" 2>"$TMP/log" </dev/null
  }
  as_nobody --strict -e 'sched:*' '*irq*' -- sh -c 'sleep 0.2; id -u' && [ "$(cat "$TMP/out")" = 65534 ] &&
    "$helpers/trace_lines" "$TMP/open/trace" >"$TMP/lines" && [ "$(count '^(event|switch)')" -gt 0 ]
  check "not as root: patterns are looked up by the producer, the command runs as who called" $?
  as_nobody 'sched:*' '!sched_stat_*' -- true
  [ $? = 2 ] && said "cannot exclude events of 'sched/\*': cannot read the kernel's list of events"
  check "not as root: what cannot be reported apart is said" $?
fi
kill -TERM "${PIDS[1]}" "${PIDS[0]}"
wait "${PIDS[@]}" 2>/dev/null
PIDS=()

wait_for no_instances
picture | sed -n '/^tracing_on/,$p' >"$TMP/after"
diff "$TMP/before" "$TMP/after" >"$TMP/diff"
verdict "top level is as it was found" $? "$TMP/diff"
exit $BAD
