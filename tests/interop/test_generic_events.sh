#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# Events without a message of their own in trace_processor: each has the name of the kernel's, and each of its fields the
# name and the value that libtraceevent finds in the same record; with descriptors, and spelled out in the older way.
. "$(dirname "$0")/lib.sh"
need_tracefs
tests=$B/tests

"$tests/root/mixed_load" "$TMP" 300 >/dev/null 2>&1 & # while events are enabled, too: that may take seconds
PIDS+=($!)
# On a busy machine the load may not come to its io_uring in this time.
for _ in 1 2 3 4 5; do
  timeout 60 "$tests/interop/generic_events" /sys/kernel/tracing "$TMP" 3 \
    io_uring writeback ipi csd rcu filelock mmap tcp sock net qdisc napi udp icmp fib6 jbd2 readahead \
    sched/sched_stat_runtime sched/sched_prepare_exec syscalls/sys_enter_openat syscalls/sys_exit_openat \
    syscalls/sys_enter_mmap 2>"$TMP/err"
  status=$?
  [ $status = 0 ] && [ -d /sys/kernel/tracing/events/io_uring ] && ! grep -q ' io_uring_[a-z]* [a-z]' "$TMP/values" || break
done
kill "${PIDS[-1]}"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
[ $status != 77 ] || { tail -n 1 "$TMP/err" >&2; exit 77; }
[ $status = 0 ] && [ "$(wc -l <"$TMP/values")" -gt 500 ]
verdict "recorded" $? "$TMP/err"

# "EVENT FIELD" of lines, as a list of SQL.
names() { # FILE
  awk '{ print $2, $3 }' "$1" | sort -u | sed "s/.*/'&'/" | paste -sd,
}

# Fields of a trace, as lines of the form that values and bytes have, into a file (a pipe would lose the end of them);
# before that trace_processor's complaints.
read_trace() { # TRACE NAMES
  query "$1" "select name, value from stats where severity = 'error' and value > 0" \
    "select group_concat(line, char(10)) as lines from (
      select e.ts || ' ' || e.name || ' ' || a.key || ' ' || ifnull(cast(a.int_value as text), a.string_value) as line
      from ftrace_event e join args a using (arg_set_id) where e.name || ' ' || a.key in ($2) order by line)" >"$1.json"
  head -n 1 "$1.json" >"$1.errors"
  tail -n +2 "$1.json" | node -e 'const rows = JSON.parse(require("fs").readFileSync(0));
    process.stdout.write((rows[0].lines ?? "") + "\n")' | sort >"$1.lines"
}
# A test beside this one runs threads with names that are no text, which trace_processor's answer has in another form.
plain() { LC_ALL=C grep -av '[^ -~]' "$@"; }
same() { # FILE TRACE: each line of the file is in the trace, and no other of the same names
  plain "$1" | sort >"$TMP/want"
  plain "$2.lines" | awk 'NR == FNR { name[$2 " " $3]; next } $2 " " $3 in name' "$1" - | diff "$TMP/want" - >"$TMP/diff"
}
said="$(wc -l <"$TMP/values") fields of $(awk '{ print $2 }' "$TMP/values" | sort -u | wc -l) events"

for way in dense legacy; do
  read_trace "$TMP/$way" "$(names "$TMP/values"),$(names "$TMP/bytes")"
  [ "$(cat "$TMP/$way.errors")" = '[]' ]
  verdict "$way: trace_processor has no complaint" $? "$TMP/$way.errors"
  same "$TMP/values" "$TMP/$way"
  verdict "$way: $said have their names and values" $? "$TMP/diff"
done
same "$TMP/bytes" "$TMP/legacy"
verdict "legacy: bytes are hexadecimal digits" $? "$TMP/diff"
[ ! -d /sys/kernel/tracing/events/io_uring ] || grep -q ' io_uring_[a-z]* [a-z]' "$TMP/values"
verdict "events of io_uring are among them" $?
exit $BAD
