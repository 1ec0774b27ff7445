#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: top
#
# What restricts a session's events, on the real kernel: each option has its effect on a process that does just what is
# looked for, and what the kernel does not have is reported while the rest records. Top level stays as it is.
. "$(dirname "$0")/lib.sh"

helpers=$B/tests/root
# Numbers of system calls.
case $(uname -m) in
x86_64) GETPPID=110 UNAME=63 YIELD=24 ;;
*) GETPPID=173 UNAME=160 YIELD=124 ;;
esac


# A process that waits for its turn to take the steps. Its pid is in $pid.
calls() { # STEP...
  rm -f "$TMP/go" "$TMP/done" "$TMP/pids"
  mkfifo "$TMP/go" "$TMP/done"
  exec 8<>"$TMP/go" 9<>"$TMP/done"
  # shellcheck disable=SC2086
  ("$helpers/do_calls" ${AT_ONCE:-} wait "$@" <&8 >"$TMP/pids" 2>&1; echo >&9) &
  PIDS+=($!)
  wait_for [ -s "$TMP/pids" ]
  pid=$(head -n 1 "$TMP/pids")
}

# A recording, during which that process does its steps. Its lines are in $TMP/NAME.lines.
record() { # NAME CONFIG
  NAME=$1
  timeout 60 "$helpers/ftrace_record" "$TMP/$1.trace" 20 "$2" sh -c 'echo >&8; read -r x <&9' \
    >"$TMP/$1.out" 2>"$TMP/$1.err" || echo >&8
  wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
  "$helpers/trace_lines" "$TMP/$1.trace" >"$TMP/$1.lines"
}

# How many lines of the last recording say all of these.
count() { # PATTERN...
  awk 'BEGIN { for (; n < ARGC - 2; ) { p[++n] = ARGV[n]; delete ARGV[n] } }
    { for (i = 1; i <= n; i++) if ($0 !~ p[i]) next; found++ }
    END { print found + 0 }' "$@" "$TMP/$NAME.lines"
}
said() { grep -qF -- "$1" "$TMP/$NAME.out"; }
nothing_said() { ! grep -E '^(failed|unknown|problem)' "$TMP/$NAME.out"; }
only() { # EVENT PATTERN: there are such events, and each is as the pattern says
  [ "$(count "^event $1 ")" -gt 0 ] && [ "$(count "^event $1 ")" = "$(count "^event $1 " "$2")" ]
}
enters() { count "^event sys_enter " " pid $1 1=$2 "; } # PID NUMBER
check() { verdict "$1" "$2" "$TMP/$NAME.out"; }

top_level >"$TMP/before"

# ---- event_filters ----

calls name=filt_a getppid=20 uname=10
record filters "ftrace_events: 'raw_syscalls/*' ftrace_events: 'kmem/kmalloc'
  event_filters { event: 'raw_syscalls/sys_enter' filter: 'id == $GETPPID && comm == \"filt_a\"' }
  event_filters { event: 'kmalloc' filter: 'bytes_alloc >= 512' }"
[ "$(enters "$pid" "$GETPPID")" = 20 ] && [ "$(count '^event sys_enter ')" = 20 ] && nothing_said
check "a filter on one event" $?
[ "$(count '^event sys_exit ' "pid $pid ")" -ge 30 ]
check "the other event is whole" $?
! awk '/^event kmalloc / { for (i = 8; i <= NF; i++) if ($i ~ /^1=/) print substr($i, 3) }' "$TMP/filters.lines" |
  awk '$1 < 512' | grep .
check "a filter by a number" $?

calls getppid=20 uname=10
record several "ftrace_events: 'raw_syscalls/*' event_filters { event: 'raw_syscalls:*' filter: 'common_pid == $pid' }
  event_filters { event: 'sys_e*' filter: 'id == $GETPPID ||
    id == $UNAME' } event_filters { event: 'sys_exit' filter: 'id != $UNAME' }"
[ "$(count '^event sys_enter ')" = 30 ] && [ "$(count '^event sys_exit ')" = 20 ] && nothing_said
check "a filter for a pattern, and several for one event: all of them must pass" $?

calls getppid=10
record refused "ftrace_events: 'sched/sched_switch' ftrace_events: 'sched/sched_waking' ftrace_events: 'raw_syscalls/*'
  event_filters { event: 'sched/sched_[sw]*' filter: 'prev_pid > 0' } event_filters { event: 'sys_enter' filter: 'common_pid == $pid' }
  event_filters { event: 'sys_exit' filter: '(id == 1' } event_filters { event: 'nope/nope' filter: 'id == 1' }
  event_filters { event: 'irq/*' filter: 'id == 1' }"
[ "$(count '^event sched_switch ')" -gt 0 ] && [ "$(enters "$pid" "$GETPPID")" = 10 ] &&
  [ "$(count '^(event sched_waking|waking|event sys_exit) ')" = 0 ]
check "an event whose filter is refused is not recorded, and the rest is" $?
said 'failed sched/sched_waking (filter refused: Field not found at character 10: prev_pid ^> 0)' &&
  said "failed raw_syscalls/sys_exit (filter refused: Too many '(' at character 1: ^(id == 1)" &&
  said 'unknown nope/nope' && said 'option:event_filters (irq/*: the event is not recorded)'
check "the kernel's words are reported, and filters for nothing" $?

# ---- event_triggers ----

# Triggers of an instance act at top level before 5.17.
if [ "$(printf '%s\n' 5.17 "$(uname -r)" | sort -V | head -n 1)" = 5.17 ]; then
  calls getppid=20 uname=10
  record stack "ftrace_events: 'raw_syscalls/*' event_filters { event: 'sys_enter' filter: 'common_pid == $pid' }
    tids_to_trace: $pid event_triggers { event: 'sys_exit' action: ACTION_TRACEOFF filter: 'id == 100000' } event_triggers { event: 'sys_enter' action: ACTION_STACKTRACE count: 3 filter: 'id == $GETPPID' }"
  [ "$(count '^event kernel_stack ')" = 3 ] && [ "$(count '^event kernel_stack ' "pid $pid ")" = 3 ] && nothing_said
  check "stacks, of so many events that pass both filters" $?
  awk -v nr="1=$GETPPID" '/^event/ { if ($2 == "kernel_stack") { n++; if (!(last ~ " " nr " ")) bad = 1 } last = $0 " " }
    END { exit !(n == 3 && !bad) }' "$TMP/stack.lines"
  check "each stands behind its event" $?

  calls getppid=5 uname=1 getppid=9
  record on "ftrace_events: 'raw_syscalls/*' event_triggers { event: 'sys_enter' action: ACTION_TRACEON
    filter: 'id == $UNAME && common_pid == $pid' }"
  [ "$(enters "$pid" "$GETPPID")" = 9 ] && nothing_said
  check "traceon: the recording begins" $?

  calls getppid=3 uname=1 getppid=4 sched_yield=1 getppid=5 uname=1 getppid=6
  record both "ftrace_events: 'raw_syscalls/sys_enter' ftrace_events: 'sched/sched_switch'
    event_triggers { event: 'sys_enter' action: ACTION_TRACEOFF filter: 'id == $UNAME && common_pid == $pid' count: 1 }
    event_triggers { event: 'sys_exit' action: ACTION_TRACEON filter: 'id == $YIELD && common_pid == $pid' }"
  [ "$(enters "$pid" "$GETPPID")" = 14 ] && nothing_said
  check "traceoff once, and traceon: all but what is between" $?
  [ "$(count '^switch ')" = 0 ] && [ "$(count '^event sched_switch ')" -gt 0 ]
  check "no columns of switches, in which a thread would seem to run during the pause" $?

  calls getppid=5
  record bad "ftrace_events: 'raw_syscalls/sys_enter' event_triggers { event: 'sys_enter' action: ACTION_STACKTRACE filter: 'no == 1' }
    event_triggers { event: 'sys_enter' action: ACTION_TRACEOFF filter: 'id == 100000' }
    event_triggers { event: 'sys_enter' action: ACTION_TRACEON } event_triggers { event: 'sys_enter' }"
  [ "$(enters "$pid" "$GETPPID")" = 5 ] &&
    said 'failed raw_syscalls/sys_enter (trigger refused: Field not found at character 4: no ^== 1)' &&
    said 'failed raw_syscalls/sys_enter (trigger refused: the event already has such a trigger' &&
    said 'failed option:event_triggers (sys_enter: no action is set)'
  check "triggers that the kernel does not have are reported" $?
else
  calls getppid=5
  record old "ftrace_events: 'raw_syscalls/sys_enter' event_triggers { event: 'sys_enter' action: ACTION_TRACEOFF }"
  [ "$(enters "$pid" "$GETPPID")" = 5 ] && said "failed option:event_triggers (sys_enter: this kernel's triggers act on all tracers)"
  check "triggers that would act at top level are refused" $?
fi

# ---- tids_to_trace ----

calls getppid=20 fork=2 thread=2
record tids "ftrace_events: 'raw_syscalls/*' ftrace_events: 'sched/sched_switch' tids_to_trace: $pid"
[ "$(enters "$pid" "$GETPPID")" = 20 ] && only sys_enter " pid $pid " && only sys_exit " pid $pid " && nothing_said
check "one thread, without its children" $?
# A stranger may be shown between two switches that both name it (src/ftrace/encode/subject_sched.h). Of rows of one time the
# last one counts.
[ "$(count '^event sched_switch ')" = 0 ] && awk -v of="$pid" '
  function check(cpu) { wrong += was[cpu] && was[cpu] != of && is[cpu] != of }
  $1 == "switch" {
    n += $7 == of
    if (time[$3] != $5) {
      check($3)
      was[$3] = is[$3]
    }
    is[$3] = $7
    time[$3] = $5
  }
  END {
    for (cpu in is)
      check(cpu)
    exit wrong || !n
  }' "$TMP/tids.lines"
check "switches to and from it, in columns without the others" $?

calls getppid=20 fork=2 thread=2
record children "ftrace_events: 'raw_syscalls/*' tids_to_trace: $pid follow_children: true"
family=$(sed -n 's/^[a-z ]*\([0-9][0-9]*\)$/\1/p' "$TMP/pids" | paste -sd '|')
good=1
sed -nE 's/^(child|thread) //p' "$TMP/pids" >"$TMP/children"
while read -r child; do [ "$(enters "$child" "$GETPPID")" = 7 ] || good=0; done <"$TMP/children"
[ $good = 1 ] && [ "$(wc -l <"$TMP/children")" = 4 ] && only sys_enter " pid ($family) " && nothing_said
check "with its children and threads, and no other process" $?

# Of its threads each makes the next one and ends: none that the list was made of is left when it is written.
AT_ONCE=relay calls laps=30
record relay "ftrace_events: 'raw_syscalls/sys_enter' pids_to_trace: $pid event_filters { event: 'sys_enter' filter: 'id == $GETPPID' }"
[ "$(count '^event sys_enter ')" = 30 ] && nothing_said
check "a process whose threads come and go all the time" $?

many=$(seq 2 2 30000 | paste -sd ,)
calls getppid=20
record many "ftrace_events: 'raw_syscalls/sys_enter' tids_to_trace: [0, 4294967295, $many, $pid]
  event_filters { event: 'sys_enter' filter: 'id == $GETPPID' }"
[ "$(enters "$pid" "$GETPPID")" = 20 ]
check "fifteen thousand threads" $?
said 'option:tids_to_trace (0 is not a valid thread ID' && said 'option:tids_to_trace (4294967295 is not a valid thread ID' &&
  said 'no such thread when the recording was set up'
check "numbers that are no threads are reported, and the rest counts" $?
calls
record none "ftrace_events: 'raw_syscalls/sys_enter' tids_to_trace: 0"
[ "$(count '^event ')" = 0 ] && said 'problem nothing is recorded'
check "none that is a thread: nothing is recorded" $?

# ---- tracing_cpumask ----

if [ "$(nproc)" -gt 1 ]; then
  calls cpu=0 getppid=30 cpu=1 getppid=40
  record cpu0 "ftrace_events: 'raw_syscalls/sys_enter' tracing_cpumask: '1'"
  [ "$(enters "$pid" "$GETPPID")" = 30 ] && only sys_enter ' cpu 0 ' && nothing_said
  check "one CPU" $?
  calls cpu=0 getppid=30 cpu=1 getppid=40
  record cpu1 "ftrace_events: 'raw_syscalls/sys_enter' tracing_cpumask: '00000002'"
  [ "$(enters "$pid" "$GETPPID")" = 40 ] && only sys_enter ' cpu 1 ' && nothing_said
  check "the other one" $?
else
  skip "one CPU" "this machine has just one"
fi
mask=ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff
calls
record mask "ftrace_events: 'raw_syscalls/sys_enter' tracing_cpumask: '$mask'"
[ "$(count '^event ')" = 0 ] && said "problem nothing is recorded: tracing_cpumask \"${mask:0:80}\": "
check "a mask of CPUs that are not there: nothing is recorded, and it says why" $?

# ---- syscall_events ----

calls getppid=20 uname=10 sched_yield=5
record calls "syscall_events: 'sys_getppid' syscall_events: 'sched_yield' syscall_events: 'sys_gteppid'"
[ "$(enters "$pid" "$GETPPID")" = 20 ] && [ "$(enters "$pid" "$YIELD")" = 5 ] && only sys_enter " 1=($GETPPID|$YIELD) " &&
  [ "$(count '^event sys_exit ' " pid $pid 1=$GETPPID ")" = 20 ] && only sys_exit " 1=($GETPPID|$YIELD) " &&
  said 'option:syscall_events (sys_gteppid: no such system call; did you mean sys_getppid?)'
check "calls by their names" $?

names=$(find "$TRACEFS/events/syscalls" -maxdepth 1 -name "sys_enter_*" -printf "%f\n" 2>/dev/null | sed "s/^sys_enter_//" | grep -v '^getppid$' | sed 's/.*/syscall_events: "&"/')
if [ -n "$names" ]; then
  calls getppid=20 uname=10 sched_yield=5
  record every "$names"
  [ "$(enters "$pid" "$GETPPID")" = 0 ] && [ "$(enters "$pid" "$UNAME")" = 10 ] && [ "$(enters "$pid" "$YIELD")" = 5 ]
  check "all of this kernel's calls but one" $?
  nothing_said
  check "all their names are known" $?
else
  skip "all of this kernel's calls but one" "the kernel has no group syscalls"
fi
# Those that are newer than a library's table, where the kernel has them.
steps=() config='' there=()
for call in cachestat:451 fchmodat2:452 map_shadow_stack:453 futex_wake:454 futex_wait:455 futex_requeue:456 statmount:457 \
  listmount:458 lsm_get_self_attr:459 lsm_set_self_attr:460 lsm_list_modules:461 mseal:462 setxattrat:463 getxattrat:464 \
  listxattrat:465 removexattrat:466 open_tree_attr:467 file_getattr:468 file_setattr:469 listns:470 rseq_slice_yield:471; do
  [ -e "$TRACEFS/events/syscalls/sys_enter_${call%:*}" ] || continue
  there+=("$call")
  steps+=("call=${call#*:}")
  config+="syscall_events: '${call%:*}' ftrace_events: 'syscalls/sys_enter_${call%:*}' "
done
calls "${steps[@]}" getppid=5
record recent "$config tids_to_trace: $pid"
good=0
for call in "${there[@]}"; do
  [ "$(enters "$pid" "${call#*:}")" = 1 ] && [ "$(count "^event sys_enter_${call%:*} " "pid $pid ")" = 1 ] || good=1
done
[ $good = 0 ] && [ "$(enters "$pid" "$GETPPID")" = 0 ]
check "recent calls (${#there[@]}) have the numbers that the kernel gives them" $?

calls
record unknown "syscall_events: 'nonsense' ftrace_events: 'raw_syscalls/sys_enter'"
[ "$(count '^event ')" = 0 ] && said 'failed raw_syscalls/sys_enter (none of syscall_events is a system call)'
check "no name that is known: no calls" $?
if [ "$(uname -m)" = x86_64 ]; then
  calls compat=15 getppid=5
  record compat "syscall_events: 'compat_sys_getpid' tids_to_trace: $pid"
  if [ "$(count "^event sys_enter ")" = 0 ]; then
    skip "calls of 32-bit programs" "the kernel does not run them"
  else
    [ "$(enters "$pid" 20)" = 15 ] && nothing_said
    check "calls of 32-bit programs" $?
  fi
fi

# ---- tracefs_options ----

calls getppid=5
record options "ftrace_events: 'raw_syscalls/sys_enter' ftrace_events: 'ftrace/kernel_stack' tids_to_trace: $pid
  tracefs_options { name: 'stacktrace' state: STATE_ENABLED } tracefs_options { name: 'stcktrace' state: STATE_ENABLED }
  tracefs_options { name: 'record-cmd' state: STATE_DISABLED } tracefs_options { name: 'record-tgid' state: STATE_ENABLED }"
[ "$(count '^event kernel_stack ')" -ge 5 ] && said 'option:tracefs_options (stcktrace: no such option; did you mean stacktrace?)' &&
  said 'option:tracefs_options (record-cmd: the option exists only at' && said 'option:tracefs_options (record-tgid: '
check "an option has its effect; others are reported" $?

# The address of its system call is in the program, or in a library of it: below the kernel's.
if [ -e $TRACEFS/options/userstacktrace ]; then
  calls getppid=5
  record user "ftrace_events: 'raw_syscalls/sys_enter' ftrace_events: 'ftrace/user_stack' tids_to_trace: $pid
    tracefs_options { name: 'userstacktrace' state: STATE_ENABLED }"
  [ "$(count '^event user_stack ' " pid $pid ")" -ge 5 ] && only user_stack " pid $pid " && nothing_said &&
    "$helpers/print_events" "$TMP/user.trace" | grep -q 'user_stack pid .* caller="0x[0-7]'
  check "stacks of the process" $?
else
  skip "stacks of the process" "the kernel has no userstacktrace"
fi

# The moment in which a new instance takes over what top level has.
was=$(cat $TRACEFS/options/stacktrace)
restore() {
  echo "$was" >$TRACEFS/options/stacktrace
  leave
}
trap '[ "$BASHPID" != $$ ] || restore' EXIT
calls getppid=5
echo 1 >$TRACEFS/options/stacktrace
(wait_for sh -c "find $TRACEFS/instances -newer '$TMP/go' -name 'sonda-*' | grep ."; sleep 0.05; echo "$was" >$TRACEFS/options/stacktrace) &
restore=$!
record taken "ftrace_events: 'raw_syscalls/sys_enter' ftrace_events: 'ftrace/kernel_stack' tids_to_trace: $pid"
wait $restore
[ "$(enters "$pid" "$GETPPID")" = 5 ] && [ "$(count '^event kernel_stack ')" = 0 ]
check "options that another program sets do not apply to the recording" $?

# ---- print_filter, and markers of threads ----

calls "mark=B|1|keep this" "mark=B|1|drop that" "mark=plain" "mark=C|12|drop|5"
record prints "ftrace_events: 'ftrace/print' print_filter { rules { atrace_msg { type: 'B' prefix: 'keep' } allow: true }
  rules { atrace_msg { type: 'B' } allow: false } rules { prefix: 'C|12|drop' allow: false } }"
[ "$(count '^event print ' "pid $pid ")" = 2 ] && [ "$(count '^event print ' 'keep_this')" = 1 ] &&
  [ "$(count '^event print ' '=plain')" = 1 ]
check "markers by their text" $?

calls "mark=of this thread" "sign=of another"
record markers "ftrace_events: 'ftrace/print' tids_to_trace: $pid"
[ "$(count '^event print ' 'of_this_thread')" = 1 ] && [ "$(count '^event print ')" = 1 ]
check "markers of one thread" $?

if [ -e $TRACEFS/options/copy_trace_marker ]; then
  calls "mark=of this thread" "sign=of another"
  record marks "ftrace_events: 'ftrace/print' tids_to_trace: $pid
    event_triggers { event: 'print' action: ACTION_STACKTRACE }"
  [ "$(count '^event print ')" = 1 ] && [ "$(count '^event kernel_stack ')" = 1 ] &&
    [ "$(count '^event kernel_stack ' " pid $pid ")" = 1 ] && nothing_said
  check "stacks of one thread's markers" $?
fi

calls raw=mine rawsign=other
record raw "ftrace_events: 'ftrace/raw_data' tids_to_trace: $pid"
[ "$(count '^event raw_data ')" = 1 ] && [ "$(count '^event raw_data ' " pid $pid ")" = 1 ] && nothing_said
check "raw markers of one thread" $?
calls raw=mine rawsign=other
record spelled "ftrace_events: 'ftrace/raw_data' tids_to_trace: $pid denser_generic_event_encoding: false"
[ "$(count '^event ')" = 1 ] && nothing_said
check "raw markers of one thread, in the older encoding" $?
calls raw=mine rawsign=other "sign=another"
record followed "ftrace_events: 'ftrace/raw_data' ftrace_events: 'ftrace/print' tids_to_trace: $pid follow_children: true"
[ "$(count '^event ')" = 3 ] && said 'option:tids_to_trace (does not apply to ftrace/raw_data: with follow_children' &&
  said 'option:tids_to_trace (does not apply to ftrace/print: with follow_children'
check "with children to follow, markers of all threads; which is reported" $?

if [ -e $TRACEFS/options/copy_trace_marker ]; then
  calls getppid=5 "mark=it is enough" getppid=9
  record enough "ftrace_events: 'raw_syscalls/sys_enter' tids_to_trace: $pid
    event_triggers { event: 'print' action: ACTION_TRACEOFF filter: 'buf ~ \"*is enough*\"' }"
  [ "$(enters "$pid" "$GETPPID")" = 5 ] && nothing_said
  check "a marker that ends the recording" $?
else
  skip "a marker that ends the recording" "the kernel has no copy_trace_marker"
fi

# ---- atrace ----

calls getppid=5 sched_yield=5
record atrace "atrace_categories: 'sched' atrace_categories: 'irqq' atrace_apps: '*' compact_sched { enabled: false }"
[ "$(count '^event sched_switch ')" -gt 0 ] && said 'no such category; did you mean irq' &&
  [ "$(grep -c "^problem atrace: .*Android" "$TMP/atrace.out")" = 1 ]
check "the kernel's part of atrace's categories; the rest is reported once" $?

calls getppid=5 sched_yield=5
record users "atrace_categories: 'sched' atrace_categories_prefer_sdk: 'sched' atrace_userspace_only: true
  ftrace_events: 'raw_syscalls/sys_enter' debug_ftrace_abi: true compact_sched { enabled: false }"
[ "$(enters "$pid" "$GETPPID")" = 5 ] && [ "$(count '^event sched')" = 0 ] &&
  [ "$(grep -c "^problem atrace: .*Android" "$TMP/users.out")" = 1 ] && ! grep -q '^failed' "$TMP/users.out"
check "atrace_userspace_only: nothing of the kernel's part" $?

top_level | diff "$TMP/before" - >"$TMP/diff"
verdict "top level is as it was" $? "$TMP/diff"
exit $BAD
