#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# System calls of 32-bit programs: named by the table that they are of, also of programs that are gone before their
# records are read, and no call of another program is taken for one of theirs.
. "$(dirname "$0")/lib.sh"

helpers=$B/tests/root
[ "$(uname -m)" = x86_64 ] || { echo "for x86_64" >&2; exit 77; }
if ! as --32 -o "$TMP/calls32.o" tests/root/calls32.S 2>"$TMP/log" || ! ld -m elf_i386 -o "$TMP/calls32" "$TMP/calls32.o" 2>"$TMP/log"; then
  echo "no 32-bit program can be made here" >&2
  exit 77
fi
"$TMP/calls32" 2>/dev/null || { echo "the kernel runs no 32-bit programs" >&2; exit 77; }

record() { # NAME CONFIG COMMAND...: its events in $TMP/NAME.events
  local name=$1 config=$2
  shift 2
  timeout 60 "$helpers/ftrace_record" "$TMP/$name.trace" 20 "$config" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" &&
    "$helpers/print_events" "$TMP/$name.trace" >"$TMP/$name.events" &&
    "$helpers/trace_lines" "$TMP/$name.trace" >"$TMP/$name.lines"
}
count() { # NAME PATTERN
  grep -cE "$2" "$TMP/$1.events"
}
is() { # GOT WANTED
  [ "$1" = "$2" ] || { echo "$1, not $2" >>"$TMP/log"; return 1; }
}

# Three of them one after the other, each with its own number, all gone when the ring is read.
: >"$TMP/log"
record both "ftrace_events: 'raw_syscalls/*' drain_period_ms: 5000" sh -c \
  "'$TMP/calls32'; '$TMP/calls32'; '$helpers/do_calls' getppid=7 >/dev/null; '$TMP/calls32'"
is "$(count both '^raw_syscalls/compat_sys_enter .* id=295 name="openat" arg0=4294967196 ')" 300 &&
  is "$(count both '^raw_syscalls/compat_sys_enter .* id=64 name="getppid"')" 150 &&
  is "$(count both '^raw_syscalls/compat_sys_enter .* id=1 name="exit"')" 3 &&
  is "$(count both '^raw_syscalls/compat_sys_enter ')" 453
verdict "each call of a 32-bit program is there, by its name" $? "$TMP/log"
is "$(count both '^raw_syscalls/compat_sys_exit .* id=295 ret=-2$')" 300 &&
  is "$(count both '^raw_syscalls/compat_sys_exit .* id=64 ret=[0-9]*$')" 150 &&
  is "$(count both '^raw_syscalls/compat_sys_exit ')" 450
verdict "each call of a 32-bit program has its own result" $? "$TMP/log"
! grep -E '^event sys_(enter|exit) .* 1=295( |$)' "$TMP/both.lines" >"$TMP/log"
verdict "none of them is reported as a call of a 64-bit program" $? "$TMP/log"
pids=$(sed -n 's/^raw_syscalls\/compat_sys_enter pid \([0-9]*\) id=1 .*/\1/p' "$TMP/both.events" | paste -sd '|')
grep -E "^event sys_(enter|exit) .*pid ($pids) 1=59( |$)" "$TMP/both.lines" >"$TMP/execs"
is "$(grep -c sys_enter "$TMP/execs")" 3 && is "$(grep -c sys_exit "$TMP/execs")" 3
verdict "the execve that leads there ends as it began" $? "$TMP/log"

# One that is there already, and records of its calls only.
record some "syscall_events: 'compat_sys_openat'" "$TMP/calls32"
is "$(count some '^raw_syscalls/compat_sys_enter ')" "$(count some '^raw_syscalls/compat_sys_enter .* name="openat"')"
verdict "syscall_events: what is known to be of the table is named by it" $? "$TMP/log"

record none "ftrace_events: 'raw_syscalls/*' disable_generic_events: true" "$TMP/calls32"
is "$(count none compat)" 0 && [ "$(grep -cE '^event sys_enter .* 1=295( |$)' "$TMP/none.lines")" -ge 100 ]
verdict "without self-describing events they are numbers, as the kernel tells them" $? "$TMP/log"
no_instances
verdict "no instance is left" $?

if peers=$(tests/interop/peers.sh 2>/dev/null); then
  TP_ASSETS=$peers/tp timeout 100 node tests/interop/tpq.mjs "$TMP/both.trace" \
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0" \
    "select count(*) as n from ftrace_event join args using (arg_set_id)
      where name = 'compat_sys_enter' and key = 'name' and string_value = 'openat'" \
    "select count(*) as n from slice where name = 'sys_preadv'" >"$TMP/tp" 2>/dev/null
  [ "$(cat "$TMP/tp")" = '[]
[{"n":300}]
[{"n":0}]' ]
  verdict "trace_processor has their names, and no other ones" $? "$TMP/tp"
fi
exit $BAD
