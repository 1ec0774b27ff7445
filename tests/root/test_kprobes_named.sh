#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Functions of the kernel with their arguments as in C: each call has the values that the program passed, and a span is a
# slice with arguments and result.
#
# kernels: 6.12
. "$(dirname "$0")/lib.sh"
needs_built "$B/tests/root/do_calls"

[ -e $TRACEFS/kprobe_events ] || { echo "the kernel has no kprobe_events" >&2; exit 77; }

record() { # NAME [OPTION]... -- COMMAND
  local name=$1
  shift
  timeout 60 "$SONDA" record --strict -o "$TMP/$name.pftrace" "$@" >"$TMP/$name.out" 2>"$TMP/$name.log"
}
query() { "$SONDA" sql --csv "$TMP/$1.pftrace" "$2" 2>>"$TMP/sql.log" | sed 1d | tr -d '"\r'; } # NAME STATEMENT

# A number of bytes that no other process reads.
head -c 54321 /dev/zero >"$TMP/file"
record calls --kprobe 'vfs_read(_, _, size_t count)' --kretprobe 'vfs_read(ssize_t got)' \
  --kprobe-span 'opens=do_sys_openat2(int dfd, const char __user *name) -> long' -- dd if="$TMP/file" of=/dev/null bs=54321
verdict "a recording of functions of the kernel" $? "$TMP/calls.log"
[ "$(query calls "select count(*) from ftrace_event join args using (arg_set_id) where name = 'vfs_read' and key = 'count' and int_value = 54321")" -ge 1 ]
verdict "the argument of a call" $? "$TMP/calls.log"
[ "$(query calls "select count(*) from ftrace_event join args using (arg_set_id) where name = 'vfs_read__return' and key = 'got' and int_value = 54321")" = 1 ]
verdict "the value of a return" $? "$TMP/calls.log"
[ "$(query calls "select count(*) from slice where name = 'opens' and dur > 0 and extract_arg(arg_set_id, 'name') = '$TMP/file'
  and extract_arg(arg_set_id, 'ret') >= 0")" = 1 ]
verdict "a span is a slice, with a string of the program and the result" $? "$TMP/calls.log"
grep -q 'probes .*kprobes/vfs_read .*missed' "$TMP/calls.log"
verdict "the summary has the hits" $? "$TMP/calls.log"
record btf --kprobe 'vfs_read(count)' -- dd if="$TMP/file" of=/dev/null bs=54321
if grep -q 'vfs_read.*count' "$TMP/btf.log" && ! [ -e "$TMP/btf.pftrace" ]; then
  skip "an argument by its name" "the kernel does not look up names in BTF"
else
  [ "$(query btf "select count(*) from ftrace_event join args using (arg_set_id) where name = 'vfs_read' and key = 'count' and int_value = 54321")" -ge 1 ]
  verdict "an argument by its name in BTF" $? "$TMP/btf.log"
fi
"$SONDA" record -o "$TMP/x.pftrace" --kprobe 'vfs_raed(size_t n)' -- touch "$TMP/ran" 2>"$TMP/x.log"
[ $? = 2 ] && [ ! -e "$TMP/ran" ] && grep -q 'did you mean vfs_read?' "$TMP/x.log"
verdict "a misspelled function: the nearest name, no command" $? "$TMP/x.log"
! grep -q sonda_ $TRACEFS/kprobe_events
verdict "nothing is left in tracefs" $?

exit $BAD
