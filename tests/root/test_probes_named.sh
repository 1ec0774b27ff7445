#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Probes of programs by the names of their functions and static probes: each call is in the trace with its arguments, a
# span is a slice, the counts are those of the program itself and of bpftrace, and the names lead to the same places in
# a stripped file.
#
# kernels: 6.12
. "$(dirname "$0")/lib.sh"
needs_built "$B/tests/root/named_program"

[ -e $TRACEFS/uprobe_events ] || { echo "the kernel has no uprobe_events" >&2; exit 77; }
case $(uname -m) in
x86_64 | aarch64) ;;
*) echo "the arguments of this machine are not known" >&2; exit 77 ;;
esac
cp "$B/tests/root/named_program" "$TMP/app"
app=$TMP/app n=200

record() { # NAME [OPTION]... -- COMMAND
  local name=$1
  shift
  timeout 60 "$SONDA" record --strict -o "$TMP/$name.pftrace" "$@" >"$TMP/$name.out" 2>"$TMP/$name.log"
}
query() { "$SONDA" sql --csv "$TMP/$1.pftrace" "$2" 2>>"$TMP/sql.log" | sed 1d | tr -d '"\r'; } # NAME STATEMENT
arguments() { # NAME EVENT: of each event, as a line
  query "$1" "select group_concat(key || '=' || display_value, ' ') from (select e.id, key, display_value from ftrace_event e
    join args using (arg_set_id) where name = '$2' and substr(key, 1, 8) <> '__probe_' order by e.ts, e.id, args.id) group by id"
}
# FORMAT is evaluated for each call, with its number i.
# shellcheck disable=SC2034
expected() { # FORMAT
  local i
  for i in $(seq 0 $((n - 1))); do eval "echo \"$1\""; done
}
no_probes() { ! grep -q "$app" $TRACEFS/uprobe_events; }

# ---- functions

record calls --uprobe "$app:plain(int fd, const char *path, size_t size)" --uretprobe "$app:plain(long)" \
  --uprobe-span "$app:ns::Loader::load(str name, int n) -> int" --usdt "$app:passed(long number, _, str text)" -- "$app" $n
verdict "a recording by names" $? "$TMP/calls.log"

arguments calls plain >"$TMP/plain"
# shellcheck disable=SC2016
expected 'fd=$i path=text $i size=$((1000 * i))' | diff - "$TMP/plain" >"$TMP/diff"
verdict "each of $n calls, with its number, its text and its size" $? "$TMP/diff"
arguments calls plain__return >"$TMP/return"
# shellcheck disable=SC2016
expected 'ret=$((3 * i))' | diff - "$TMP/return" >"$TMP/diff"
verdict "each return, with its value" $? "$TMP/diff"
query calls "select extract_arg(arg_set_id, 'name') || ' ' || extract_arg(arg_set_id, 'n') || ' ' || extract_arg(arg_set_id, 'ret')
  from slice where name = 'ns_Loader_load' and dur >= 100000 order by ts" >"$TMP/spans"
# shellcheck disable=SC2016
expected 'text $i $i $((2 * i))' | diff - "$TMP/spans" >"$TMP/diff"
verdict "each call of a span is a slice, with its arguments and its result" $? "$TMP/diff"

# ---- static probes

arguments calls passed >"$TMP/passed"
# shellcheck disable=SC2016
expected 'number=$i text=text $i' | diff - "$TMP/passed" >"$TMP/diff"
verdict "each pass of a static probe, with its arguments" $? "$TMP/diff"
record watched --usdt "$app:sonda_test:passed" -- "$app" $n
verdict "its arguments have numbers if their types are not named" $?
[ "$(query watched "select count(distinct key) from ftrace_event join args using (arg_set_id) where key in ('arg1', 'arg2', 'arg3')")" = 3 ]
verdict "all three arguments" $? "$TMP/watched.log"
# The program itself prints whether a tracer had enabled the probe.
"$SONDA" record -q -o "$TMP/x.pftrace" --usdt "$app:passed" -- sh -c "'$app' 50 >'$TMP/counted'" 2>"$TMP/x.log"
[ "$(cat "$TMP/counted")" = 50 ] && [ "$("$app" 50)" = 0 ]
verdict "the semaphore is set while it records, and not afterwards" $? "$TMP/x.log"

grep -q "probes .*probe_app/plain $n, .*probe_app/ns_Loader_load $n.* hits; none missed" "$TMP/calls.log"
verdict "the summary has the hits of each probe" $? "$TMP/calls.log"
no_probes
verdict "nothing is left in tracefs" $?

# ---- what there is

"$SONDA" list functions "$app:ns::*" >"$TMP/functions.out" 2>&1 &&
  grep -q '^_ZN2ns6Loader4loadEPKci  *0x[0-9a-f]* ns::Loader::load(char const\*, int)$' "$TMP/functions.out" &&
  [ "$(wc -l <"$TMP/functions.out")" = 1 ]
verdict "the functions of a program are listed, by both names" $? "$TMP/functions.out"
"$SONDA" list usdt "$app" >"$TMP/usdt.out" 2>&1 && grep -q '^sonda_test:passed  *0x[0-9a-f]* semaphore 0x[0-9a-f]* 8@' "$TMP/usdt.out"
verdict "its static probes are listed, with their semaphores and arguments" $? "$TMP/usdt.out"
none=$(type -P sleep)
"$SONDA" list usdt "$none" >"$TMP/none.out" 2>&1
[ $? = 1 ] && grep -q "no static probe matches '$none'" "$TMP/none.out"
verdict "a program without static probes" $? "$TMP/none.out"

# ---- files without symbols

# gdb's way to keep the names of functions in a stripped file: .gnu_debugdata.
packed_file() {
  nm -D "$app" --format=posix --defined-only | awk '{ print $1 }' | sort >"$TMP/dynamic" &&
    nm "$app" --format=posix --defined-only | awk '$2 == "T" || $2 == "t" { print $1 }' | sort | comm -13 "$TMP/dynamic" - >"$TMP/functions" &&
    objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols="$TMP/functions" "$app" "$TMP/mini" &&
    xz -f "$TMP/mini" && strip -o "$TMP/packed" "$app" && objcopy --add-section .gnu_debugdata="$TMP/mini.xz" "$TMP/packed"
}
if command -v objcopy strip nm xz >"$TMP/tools" && [ "$(wc -l <"$TMP/tools")" = 4 ]; then
  packed_file >"$TMP/packed.log" 2>&1
  record packed --uprobe "$TMP/packed:ns::Loader::load(_, int n)" --usdt "$TMP/packed:passed" -- "$TMP/packed" 50
  verdict "a stripped file with .gnu_debugdata" $? "$TMP/packed.log"
  [ "$(query packed "select count(*) from ftrace_event where name in ('ns_Loader_load', 'passed')")" = 100 ]
  verdict "all its calls" $? "$TMP/packed.log"
  strip -o "$TMP/bare" "$app"
  "$SONDA" record -o "$TMP/x.pftrace" --uprobe "$TMP/bare:plain" -- true 2>"$TMP/x.log"
  [ $? = 2 ] && grep -q "bare has no function 'plain': it is stripped" "$TMP/x.log"
  verdict "a stripped file without one is refused, and says why" $? "$TMP/x.log"
else
  skip "stripped files" "no binutils or xz"
fi

# ---- beside bpftrace

if command -v bpftrace >/dev/null; then
  timeout 60 "$SONDA" record -q -o "$TMP/both.pftrace" --uprobe "$app:plain" --usdt "$app:passed" -- \
    timeout 40 bpftrace -e "uprobe:$app:plain { @calls = count(); } usdt:$app:sonda_test:passed { @passes = count(); }" -c "$app $n" \
    >"$TMP/both.out" 2>"$TMP/both.log"
  theirs=$(sed -n 's/^@\(calls\|passes\): //p' "$TMP/both.out" | tr '\n' ' ')
  if [ -n "$theirs" ]; then
    [ "$theirs" = "$n $n " ] && [ "$(query both "select count(*) from ftrace_event where name = 'plain'")" = $n ] &&
      [ "$(query both "select count(*) from ftrace_event where name = 'passed'")" = $n ]
    verdict "the counts are those of bpftrace in the same run" $? "$TMP/both.log"
  else
    skip "bpftrace" "it does not count here: $(tail -1 "$TMP/both.log")"
  fi
else
  skip "bpftrace" "it is not installed"
fi

exit $BAD
