#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# sonda recorder: parts that are whole traces, a snapshot of the last minutes while it records, kill -9 of it, a new start.
# (test_recorder_long.sh has what takes longer, tests/interop/test_recorder.sh what other readers make of it.)
. "$(dirname "$0")/lib.sh"
ring=$TMP/ring
run() { # ARGUMENT...: of sonda recorder run, in ${PIDS[-1]}
  start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/run.log" "$SONDA" recorder run --dir "$ring" --part 1s --keep 1m "$@"
}
parts() { find "$ring" -name 'part-*' | sort; }
has_parts() { [ "$(parts | wc -l)" -ge "$1" ]; }
status() { "$SONDA" recorder status --dir "$ring" "$@"; }
key() { status --json | sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\1/"; }
details() { cat "$TMP/run.log" "$ring/state"; }

run --pause 60s --on trigger:mine sched_switch sched_process_exit minimal
verdict "it says when it records" $? "$TMP/run.log"
[ "$(key state)" = recording ] && [ "$(key pid)" = "${PIDS[0]}" ] && status | grep -q '^records   sched_switch sched_process_exit minimal$'
verdict "status: it records, what, and as which process" $? <(status)
"$SONDA" recorder run --dir "$ring" minimal 2>"$TMP/second"
[ $? = 1 ] && grep -q 'another recorder already uses the directory' "$TMP/second"
verdict "a second recorder is refused" $? "$TMP/second"
wait_for has_parts 3
verdict "it writes parts" $?
sleep 0.2
cp /bin/sleep "$TMP/recorded-now" && "$TMP/recorded-now" 0.01

# The newest second has not been written by the service yet: the snapshot flushes it.
"$SONDA" snapshot --dir "$ring" --last 30s -o "$TMP/a.pftrace" recorder 2>"$TMP/summary" && grep -q '^Snapshot after' "$TMP/summary" &&
  "$SONDA" sql "$TMP/a.pftrace" "select name from thread where name = 'recorded-now'" --csv | grep -q recorded-now
verdict "a snapshot has what happened just now" $? "$TMP/summary"
"$SONDA" info "$TMP/a.pftrace" 2>&1 | grep -q '^  lost     nothing$'
verdict "it has lost nothing" $? <("$SONDA" info "$TMP/a.pftrace" 2>&1)
[ "$(key state)" = recording ]
verdict "the recording goes on" $?

"$SONDA" trigger --dir "$ring" other && began=$(date +%s%N) && "$SONDA" trigger --dir "$ring" mine
saved() { compgen -G "$ring/snapshots/*-mine.pftrace.json"; }
wait_for saved && [ $(($(date +%s%N) - began)) -lt 2000000000 ]
verdict "sonda trigger: a snapshot within 2 s" $? <(ls -l --full-time "$ring/snapshots"; date)
grep -q '"trigger":"mine","reason":"trigger:mine of sonda","time":"20' "$ring"/snapshots/*.json &&
  "$SONDA" sql "$(echo "$ring"/snapshots/*.pftrace)" "select name from thread where name = 'recorded-now'" --csv | grep -q recorded-now
verdict "it has its reason, and what was before it" $? <(cat "$ring"/snapshots/*.json)
"$SONDA" trigger --dir "$ring" mine
skipped() { [ "$(key triggers_skipped)" = 1 ] && [ "$(key snapshots)" = 1 ]; }
wait_for skipped
verdict "a second one within the pause is skipped, and counted" $? <(status)
n=$(parts | wc -l)

# Its daemons die with it, and the service ends the part.
{ kill -KILL "${PIDS[0]}"; wait "${PIDS[0]}"; } 2>/dev/null
dead() { ! pgrep -f -- "--output-dir $ring"; }
wait_for dead
status >"$TMP/status"
[ $? = 1 ] && grep -q '^recorder  not running since .*: it was killed$' "$TMP/status"
verdict "kill -9: status says so" $? "$TMP/status"
# The last part may have just begun.
for last in $(parts | tail -n 2); do "$SONDA" info "$last" || echo "$last: exit code $?"; done >"$TMP/info" 2>&1
grep -q ' processes, ' "$TMP/info" && ! grep 'exit code' "$TMP/info"
verdict "kill -9: the last part opens" $? "$TMP/info"
head -c $(($(stat -c %s "$last") - 1)) "$last" >"$TMP/cut" && cat "$TMP/cut" >"$last"
"$SONDA" snapshot --dir "$ring" -o "$TMP/b.pftrace" recorder 2>"$TMP/summary" &&
  [ "$(stat -c %s "$TMP/b.pftrace")" -gt "$(stat -c %s "$TMP/a.pftrace")" ]
verdict "kill -9: a snapshot of what is on disk, whose last packet is cut" $? "$TMP/summary"

parts >"$TMP/before"
run sched_switch minimal && parts | comm -23 "$TMP/before" - >"$TMP/removed" && [ ! -s "$TMP/removed" ] && has_parts $((n + 1))
verdict "a new start goes on with the ring" $? <(parts)
"$SONDA" snapshot --dir "$ring" -o "$TMP/c.pftrace" recorder 2>"$TMP/summary"
gap=$(sed -nE 's/^  lost .*recorder: 1 restart, nothing recorded for ([0-9.]+) s.*/\1/p' "$TMP/summary")
# Otherwise each run of a CPU begins where the one before has ended.
"$SONDA" sql --csv "$TMP/c.pftrace" "select count(*) from (select lead(ts) over (partition by cpu order by ts) - ts - dur as gap from sched)
  where gap >= ${gap:-0} * 1e9" 2>>"$TMP/summary" | tail -n 1 | tr -d '\r' >"$TMP/gaps"
grep -c 'not recorded' "$TMP/summary" | cmp -s - "$TMP/gaps" && [ -n "$gap" ]
verdict "a snapshot of both sessions lists the gap between them, and no run of a CPU covers it" $? "$TMP/summary" "$TMP/gaps"
kill "${PIDS[-1]}"
wait "${PIDS[-1]}"
verdict "SIGTERM ends it well" $? "$TMP/run.log"
[ "$(status | head -n 1 | sed 's/since.*: /: /')" = 'recorder  not running : stopped by SIGTERM' ]
verdict "status: it was stopped" $? <(status)
PIDS=()
exit $BAD
