#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: top
#
# Three sessions at once, with other events, threads, calls, CPUs, rings, clocks and options each, beside a fourth tracer
# at top level with a clock, options, events and a reader of its own: each trace holds what its session asked for and
# nothing else, and top level is byte for byte what the fourth tracer has made of it, before, during and after.
. "$(dirname "$0")/lib.sh"

helpers=$B/tests/root
case $(uname -m) in
x86_64) GETPPID=110 UNAME=63 YIELD=24 ;;
*) GETPPID=173 UNAME=160 YIELD=124 ;;
esac

# ---- top level ----

# All that can be set there, file by file; without the events that sessions of other tests have made for themselves.
whole_top_level() {
  top_level
  every_file | awk -v own="sonda_${probes:-0}_" '!/sonda_[0-9]+_/ || index($0, own)'
}
every_file() {
  (cd $TRACEFS && grep -H '' set_ftrace_filter set_ftrace_notrace set_graph_function set_ftrace_pid kprobe_events uprobe_events \
    synthetic_events dynamic_events buffer_subbuf_size_kb saved_cmdlines_size options/* 2>/dev/null
    find events \( -name enable -o -name filter -o -name trigger \) -print0 | sort -z | xargs -0 grep -H '' 2>/dev/null)
}
differs() { # NAME BEFORE AFTER
  diff "$TMP/$2" "$TMP/$3" >"$TMP/diff"
  verdict "$1" $? "$TMP/diff"
}

clock=$(sed 's/.*\[\(.*\)\].*/\1/' $TRACEFS/trace_clock)
offset=$(cat $TRACEFS/options/sym-offset)
overwrite=$(cat $TRACEFS/options/overwrite)
tracing=$(cat $TRACEFS/tracing_on)
other_clock=global
[ "$clock" != global ] || other_clock=local
restore() {
  echo "$tracing" >$TRACEFS/tracing_on
  echo 0 >$TRACEFS/events/sched/sched_process_fork/enable
  echo 0 >$TRACEFS/events/sched/sched_process_fork/filter
  echo "$offset" >$TRACEFS/options/sym-offset
  echo "$overwrite" >$TRACEFS/options/overwrite
  echo "$clock" >$TRACEFS/trace_clock
}
ended() {
  restore
  leave
}
trap '[ "$BASHPID" != $$ ] || ended' EXIT
# Its first event ever makes top level's ring larger.
echo 1 >$TRACEFS/events/sched/sched_process_fork/enable
echo 0 >$TRACEFS/events/sched/sched_process_fork/enable
whole_top_level >"$TMP/untouched"

# The fourth tracer: as a person would, with a filter so that others on this machine do not fill its pipe.
echo $other_clock >$TRACEFS/trace_clock
echo $((1 - offset)) >$TRACEFS/options/sym-offset
echo 0 >$TRACEFS/options/overwrite
echo 'parent_comm == "sess_c"' >$TRACEFS/events/sched/sched_process_fork/filter
echo 1 >$TRACEFS/events/sched/sched_process_fork/enable
echo 1 >$TRACEFS/tracing_on
cat $TRACEFS/trace_pipe >"$TMP/pipe" 2>/dev/null &
PIDS+=($!)
whole_top_level >"$TMP/before"

# ---- the load: processes that wait ----

calls() { # NAME STEP...
  local name=$1
  shift
  mkfifo "$TMP/$name.go"
  "$helpers/do_calls" "name=$name" wait "$@" wait <>"$TMP/$name.go" >"$TMP/$name.pids" 2>&1 &
  PIDS+=($!)
  wait_for [ -s "$TMP/$name.pids" ]
  pid=$(head -n 1 "$TMP/$name.pids")
}
last_cpu=$(($(nproc) - 1))
calls sess_a getppid=500 uname=300 sched_yield=200 mark=of_a
a=$pid
calls sess_b cpu=0 sched_yield=50 "cpu=$last_cpu" sched_yield=50 mark=of_b
b=$pid
calls sess_c uname=40 getppid=60 fork=3 thread=2 sched_yield=20 mark=of_c
c=$pid

# ---- the sessions ----

mkfifo "$TMP/ready"
exec 8<>"$TMP/ready"
env TRACED_NOTIFY_FD=8 "$BIN/sondad" >"$TMP/service.log" 2>&1 </dev/null &
PIDS+=($!)
timeout 20 head -c 1 <&8 >/dev/null
exec 8>&-
"$BIN/sonda-probes" >"$TMP/probes.log" 2>&1 </dev/null &
probes=$!
PIDS+=("$probes")

session() { # NAME FTRACE_CONFIG
  cat >"$TMP/$1.cfg" <<END
buffers { size_kb: 16384 }
data_sources { config { name: "linux.ftrace" ftrace_config { $2 } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
END
  "$BIN/sonda" record -c "$TMP/$1.cfg" -o "$TMP/$1.trace" >"$TMP/$1.log" 2>&1 </dev/null &
  PIDS+=($!)
  recorders+=($!)
}
instances() { compgen -G "$TRACEFS/instances/sonda-$probes-*"; }
all_record() {
  local i n=0
  for i in $(instances); do [ "$(cat "$i/tracing_on")" != 1 ] || n=$((n + 1)); done
  [ $n = 3 ]
}
recorders=()
session a "syscall_events: 'getppid' syscall_events: 'sys_uname' tids_to_trace: $a buffer_size_kb: 256 drain_period_ms: 20
  ftrace_events: 'ftrace/kernel_stack'"
session b "ftrace_events: 'sched/sched_switch' ftrace_events: 'sched/sched_waking' ftrace_events: 'sched/sched_process_fork'
  event_filters { event: 'sched_process_fork' filter: 'parent_comm == \"nobody\"' }
  use_monotonic_raw_clock: true buffer_size_kb: 4096 tracing_cpumask: '$(printf %x $((1 << last_cpu)))'"
session c "syscall_events: 'getppid' syscall_events: 'sched_yield' tids_to_trace: $c follow_children: true buffer_size_kb: 1024
  ftrace_events: 'ftrace/kernel_stack' tracefs_options { name: 'stacktrace' state: STATE_ENABLED }"
wait_for all_record
verdict "three sessions record" $? "$TMP/probes.log"

files_of() { for i in $(instances); do tr '\n' ' ' <"$i/$1"; done; }
sizes=$(for i in $(instances); do sed 's/[^0-9].*//' "$i/buffer_size_kb"; done | sort -n | tr '\n' ' ')
read -r s1 s2 s3 <<<"$sizes"
[ "$s1" -ge 256 ] && [ "$s1" -lt 1024 ] && [ "$s2" -ge 1024 ] && [ "$s2" -lt 4096 ] && [ "$s3" -ge 4096 ]
verdict "each has rings of its own size ($sizes)" $?
[ "$(files_of trace_clock | grep -o '\[[a-z_]*\]' | sort | tr '\n' ' ')" = '[boot] [boot] [mono_raw] ' ]
verdict "each has a clock of its own" $?
grep -H . $TRACEFS/instances/sonda-"$probes"-*/options/overwrite | grep -vq ':0$'
verdict "none has the options of the fourth tracer" $?
whole_top_level >"$TMP/during"
differs "top level is the fourth tracer's while they record" before during

# Everybody does their part, up to the marker; then a second line lets them end.
for name in sess_a sess_b sess_c; do echo >"$TMP/$name.go"; done
all_have_marked() { [ "$(grep -c of_ "$TMP/pipe")" = 3 ]; }
wait_for all_have_marked
for name in sess_a sess_b sess_c; do echo >"$TMP/$name.go"; done
whole_top_level >"$TMP/during"
differs "and with all of them at work" before during
for p in "${recorders[@]}"; do kill -INT "$p"; done
good=0
for p in "${recorders[@]}"; do wait "$p" || good=1; done
cat "$TMP"/[abc].log >"$TMP/logs"
verdict "they end well" $good "$TMP/logs"
wait_for sh -c "! ls -d $TRACEFS/instances/sonda-$probes-*"
verdict "no instance is left" $?
whole_top_level >"$TMP/after"
differs "top level is the fourth tracer's after them" before after

# ---- each trace ----

for t in a b c; do "$helpers/trace_lines" "$TMP/$t.trace" >"$TMP/$t.lines"; done
count() { # TRACE PATTERN...
  local p lines
  lines=$(cat "$TMP/$1.lines")
  shift
  for p in "$@"; do lines=$(grep -E -- "$p" <<<"$lines"); done
  grep -c . <<<"$lines"
}
# Every line of a trace is of one of these kinds.
only() { # TRACE PATTERN
  grep -vE -- "$2" "$TMP/$1.lines" >"$TMP/others"
  [ -s "$TMP/$1.lines" ] && [ ! -s "$TMP/others" ]
}

[ "$(count a '^event sys_enter ' " pid $a 1=$GETPPID ")" = 500 ] && [ "$(count a '^event sys_enter ' " pid $a 1=$UNAME ")" = 300 ] &&
  [ "$(count a '^event sys_exit ' " pid $a 1=$GETPPID ")" = 500 ]
verdict "a: every call of its thread" $? "$TMP/a.log"
only a "^event sys_(enter|exit) .* pid $a 1=($GETPPID|$UNAME) "
verdict "a: and nothing else" $? "$TMP/others"

[ "$(count b '^switch ' "cpu $last_cpu .* pid $b\$")" -gt 0 ] || [ "$(count b '^switch ' "cpu $last_cpu ")" -gt 100 ]
verdict "b: switches of its CPU" $? "$TMP/b.log"
only b "^((switch|waking) cpu $last_cpu |clock 4\$)"
verdict "b: and nothing else" $? "$TMP/others"

family=$(sed -n 's/^[a-z ]*\([0-9][0-9]*\)$/\1/p' "$TMP/sess_c.pids" | paste -sd '|')
good=0
sed -nE 's/^(child|thread) //p' "$TMP/sess_c.pids" >"$TMP/children"
while read -r child; do
  [ "$(count c '^event sys_enter ' " pid $child 1=$GETPPID ")" = 7 ] || good=1
done <"$TMP/children"
[ $good = 0 ] && [ "$(count c '^event sys_enter ' " pid $c 1=$GETPPID ")" = 60 ] &&
  [ "$(count c '^event sys_enter ' " pid $c 1=$YIELD ")" = 20 ] && [ "$(count c '^event kernel_stack ')" -ge 80 ]
verdict "c: every call of its threads and their children, and a stack for each" $? "$TMP/c.log"
only c "^event (sys_(enter|exit) .* pid ($family) 1=($GETPPID|$YIELD) |kernel_stack .* pid ($family) )"
verdict "c: and nothing else" $? "$TMP/others"

# The fourth one: its forks, each once, and markers, which are top level's.
good=0
while read -r child; do
  [ "$(grep -c "sched_process_fork: .* child_pid=$child\$" "$TMP/pipe")" = 1 ] || good=1
done <"$TMP/children"
[ $good = 0 ] && [ "$(grep -c of_ "$TMP/pipe")" = 3 ] && ! grep -vE 'sched_process_fork: |tracing_mark_write' "$TMP/pipe"
verdict "the fourth tracer has its own events, and only those" $? "$TMP/pipe"

restore
whole_top_level >"$TMP/after"
differs "and when it is gone, top level is as it was" untouched after

# ---- as others read it ----

# What is true of each, as tests/kernels/check.sh asks it too.
printf '%s\t%s\n' >"$TMP/a.sql" 'calls have their names' "select sum(name = 'sys_getppid') = 500 and
  sum(name in ('sys_uname', 'sys_newuname')) = 300 and count(*) = 800 from slice"
printf '%s\t%s\n' >"$TMP/b.sql" 'one CPU is scheduled' "select count(*) > 10 and count(distinct cpu) = 1 from sched where dur > 0"
printf '%s\t%s\n' >"$TMP/c.sql" 'calls of six threads' "select count(distinct utid) = 6 from ftrace_event
  where name = 'sys_enter'"
sed -i -e ':a' -e 'N' -e '$!ba' -e 's/\n */ /g' "$TMP"/[abc].sql
if [ "${KERNEL:-}" ] && [ -d /out ]; then
  for t in a b c; do cp "$TMP/$t.trace" "/out/session_$t.pftrace" && cp "$TMP/$t.sql" "/out/session_$t.sql"; done
fi
if peers=$(tests/interop/peers.sh 2>"$TMP/peers.err"); then
  for t in a b c; do
    IFS=$'\t' read -r what sql <"$TMP/$t.sql"
    TP_ASSETS=$peers/tp timeout 100 node tests/interop/tpq.mjs "$TMP/$t.trace" \
      "select name from stats where severity = 'error' and value > 0" "$sql" >"$TMP/rows" 2>/dev/null
    [ "$(sed -n 1p "$TMP/rows")" = '[]' ] && sed -n 2p "$TMP/rows" | grep -q ':1}'
    verdict "trace_processor reads $t without an error: $what" $? "$TMP/rows"
  done
else
  skip "trace_processor reads them" "$(tail -n 1 "$TMP/peers.err")"
fi
exit $BAD
