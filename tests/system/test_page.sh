#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda report --html: every row of the page is one of sonda sql, whatever the names in the trace are; and its options.
. "$(dirname "$0")/../lib.sh"
same() { # NAME TRACE PAGE [FROM TO]: the page has the rows of the trace
  local line
  python3 tests/page/decode.py "$SONDA" "${@:2}" >"$TMP/decoded" 2>&1 || BAD=1
  while IFS= read -r line; do
    case $line in
    "ok "*) N=$((N + 1)) && echo "ok $N - $1: ${line#ok * - }" ;;
    "not ok "*) N=$((N + 1)) && echo "not ok $N - $1: ${line#not ok * - }" ;;
    *) echo "# $line" ;;
    esac
  done <"$TMP/decoded"
}

mistake() { # NAME STDERR_REGEX ARGS...
  "$SONDA" report "${@:3}" >"$TMP/out" 2>"$TMP/err"
  [ $? = 2 ] && grep -q -- "$2" "$TMP/err" && [ ! -s "$TMP/out" ]
  verdict "$1" $? "$TMP/err"
}

python3 tests/page/make_trace.py "$TMP/made" 6000
"$SONDA" report --html "$TMP/made" -o "$TMP/made.html" 2>"$TMP/err"
verdict "it writes a page" $? "$TMP/err"
same "names that are HTML" "$TMP/made" "$TMP/made.html"
[ "$(stat -c %a "$TMP/made.html")" = 600 ]
verdict "only the owner may read it, as the trace" $?

"$SONDA" report --html --from 10ms --to 20ms -o - "$TMP/made" >"$TMP/part.html" 2>"$TMP/err"
same "a part of the trace, on standard output" "$TMP/made" "$TMP/part.html" 10000000 20000000
for trace in ring_losses generic_events; do
  "$SONDA" report --html "tests/data/traces/$trace.pftrace" -o "$TMP/page.html" 2>"$TMP/err"
  same "$trace" "tests/data/traces/$trace.pftrace" "$TMP/page.html"
done
for ts in 1000 2000 9223372036854775807; do
  echo "packet { trusted_packet_sequence_id: 2 ftrace_events { cpu: 0 event { timestamp: $ts pid: 5 sched_switch {
    prev_comm: \"a\" prev_pid: $((ts % 2 + 5)) prev_state: 1 next_comm: \"b\" next_pid: $((6 - ts % 2)) } } } }"
done | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/last" 2>"$TMP/err"
"$SONDA" report --html "$TMP/last" -o "$TMP/last.html" 2>"$TMP/err"
same "a trace with an event at the last time that there is" "$TMP/last" "$TMP/last.html"
# Of the thread 5: 6 comes and leaves its CPU unseen, 8 comes last.
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/of_thread" 2>"$TMP/err" <<'TRACE'
packet { trace_config { data_sources { config { name: "linux.ftrace" ftrace_config { tids_to_trace: 5 } } } } }
packet { trusted_packet_sequence_id: 2 ftrace_events { cpu: 0
  event { timestamp: 10 pid: 5 sched_switch { prev_comm: "five" prev_pid: 5 prev_state: 1 next_comm: "six" next_pid: 6 } }
  event { timestamp: 50 pid: 7 sched_switch { prev_comm: "seven" prev_pid: 7 prev_state: 0 next_comm: "five" next_pid: 5 } }
  event { timestamp: 60 pid: 5 sched_switch { prev_comm: "five" prev_pid: 5 prev_state: 1 next_comm: "eight" next_pid: 8 } }
  event { timestamp: 90 pid: 5 task_rename { pid: 5 oldcomm: "five" newcomm: "five" } } } }
TRACE
"$SONDA" report --html "$TMP/of_thread" -o "$TMP/of_thread.html" 2>"$TMP/err"
NOT_RECORDED=6,7,8 same "a trace of one thread" "$TMP/of_thread" "$TMP/of_thread.html"
"$SONDA" sql "$TMP/of_thread" 'select tid, dur from sched join thread using (utid) order by ts' | awk 'NR > 2' >"$TMP/err"
[ "$(awk '{ print $1, $2 }' "$TMP/err" | tr '\n' ,)" = '6 0,5 10,8 0,' ] && grep -qF '"losses":[],' "$TMP/of_thread.html"
verdict "a trace of one thread: no other thread runs to the end, and its switches are not lost" $? "$TMP/err"
echo before >"$TMP/kept"
"$SONDA" report --html "$TMP/nothing" -o "$TMP/kept" >"$TMP/out" 2>&1
[ $? = 1 ] && [ "$(<"$TMP/kept")" = before ]
verdict "a trace that cannot be read leaves the file as it was" $? "$TMP/out"
"$SONDA" report --html "$TMP/made" -o "$TMP/no/page.html" 2>"$TMP/err"
[ $? = 1 ] && grep -q "cannot write $TMP/no/page.html: No such file" "$TMP/err"
verdict "a directory that is not there" $? "$TMP/err"
"$SONDA" report --html "$TMP/made" -o /dev/full 2>"$TMP/err"
[ $? = 1 ] && grep -q "cannot write /dev/full: No space left" "$TMP/err"
verdict "a full disk" $? "$TMP/err"
[ -z "$(find "$TMP" -name '*.html.*')" ]
verdict "no half page is left" $?

mistake "--html without a file" '-o page.html' --html "$TMP/made"
mistake "-o without --html" '-o requires --html' -o "$TMP/x" "$TMP/made"
mistake "a page of one report" 'all processes and reports' --html -o "$TMP/x" cpu "$TMP/made"
mistake "a page of one process" 'all processes and reports' --html -o "$TMP/x" -p 4 "$TMP/made"
exit $BAD
